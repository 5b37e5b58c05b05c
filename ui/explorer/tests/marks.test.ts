import { describe, expect, it } from "vitest";
import { placeMarkNames } from "../src/marks";

const wide = (text: string): number => text.length * 6;

describe("names of marks", () => {
  it("begin at their marks, and at the right edge end there", () => {
    expect(
      placeMarkNames(
        [
          { x: 250, text: "closing" },
          { x: 10, text: "backup" },
        ],
        260,
        wide,
      ),
    ).toEqual([
      { left: 13, text: "backup" },
      { left: 205, text: "closing" },
    ]);
  });
  it("never meet, and stay inside", () => {
    const marks = Array.from({ length: 101 }, (_, at) => ({
      x: ((at * 37) % 307) - 10,
      text: "n".repeat((at % 9) + 1),
    }));
    const names = placeMarkNames(marks, 260, wide);
    expect(names.length).toBeGreaterThan(5);
    names.forEach((name, at) => {
      expect(name.left).toBeGreaterThanOrEqual(
        at === 0 ? 0 : (names[at - 1]?.left ?? 0) + wide(names[at - 1]?.text ?? ""),
      );
      expect(name.left + wide(name.text)).toBeLessThanOrEqual(260);
    });
  });
});
