import { describe, expect, it } from "vitest";
import { placeMarkNames } from "../src/marks";

const textWidth = (text: string): number => text.length * 6;

describe("names of marks", () => {
  it("begin at their marks, and at the right edge end there", () => {
    expect(
      placeMarkNames(
        [
          { x: 250, text: "closing" },
          { x: 10, text: "backup" },
        ],
        260,
        textWidth,
      ),
    ).toEqual([
      { left: 13, text: "backup" },
      { left: 205, text: "closing" },
    ]);
  });
  it("keep their distances in device pixels", () => {
    const names = [
      { x: 20, text: "backup" },
      { x: 105, text: "next" },
    ];
    const placed = placeMarkNames(names, 520, (text) => 2 * textWidth(text), 2);
    // 20 + 6, and no second name: the first one ends at 98, and 16 pixels must be free.
    expect(placed).toEqual([{ left: 26, text: "backup" }]);
  });
  it("never meet, and stay inside", () => {
    const marks = Array.from({ length: 101 }, (_, at) => ({
      x: ((at * 37) % 307) - 10,
      text: "n".repeat((at % 9) + 1),
    }));
    const names = placeMarkNames(marks, 260, textWidth);
    expect(names.length).toBeGreaterThan(5);
    names.forEach((name, at) => {
      expect(name.left).toBeGreaterThanOrEqual(
        at === 0 ? 0 : (names[at - 1]?.left ?? 0) + textWidth(names[at - 1]?.text ?? ""),
      );
      expect(name.left + textWidth(name.text)).toBeLessThanOrEqual(260);
    });
  });
});
