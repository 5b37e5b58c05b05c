import { describe, expect, it } from "vitest";
import { cellAt, type Grid } from "../../src/cells";

const y = { label: "IOPS", low: 0, high: 1, log: false };

describe("the cell under the pointer", () => {
  const grid: Grid = {
    label: "Mix",
    names: ["foot", "head"],
    columns: 3,
    together: 1,
    values: [
      [1234.5, null, 3],
      [4, 5, 6],
    ],
  };
  const sizes = { label: "Size", low: -0.5, high: 2.5, log: false, names: ["4K", "8K", "64K"] };

  it("has its column, its row and its value", () => {
    expect(cellAt(grid, sizes, y, 0, 0)).toEqual({
      head: "Size: 4K",
      lines: [{ text: "Mix: foot" }, { text: "IOPS: 1,235" }],
    });
    expect(cellAt(grid, sizes, y, 1, 1)?.lines).toEqual([{ text: "Mix: head" }, { text: "IOPS: 6" }]);
    expect(cellAt(grid, sizes, y, 0.5, 0.49)?.lines[1]?.text).toBe("IOPS: none");
  });

  it("tells its edges on an axis of numbers, and that it stands for several", () => {
    const time = { label: "Time (s)", low: 0, high: 30, log: false };
    const folded = {
      ...grid,
      columns: 3,
      together: 2,
      folded: true,
      values: [
        [7, 8],
        [null, 9],
      ],
    };
    expect(cellAt(folded, time, y, 0.4, 0)).toEqual({
      head: "Time (s): 0 to 20",
      lines: [{ text: "Mix: foot" }, { text: "IOPS: at most 7" }],
    });
    expect(cellAt(folded, time, y, 0.9, 0)?.head).toBe("Time (s): 20 to 30");
    expect(cellAt(folded, time, y, 0.1, 1)?.lines[1]?.text).toBe("IOPS: none");
  });

  it("is named where values are categories", () => {
    const kinds = { ...y, label: "Most", names: ["RND 4K R", "others"] };
    expect(
      cellAt(
        {
          ...grid,
          values: [
            [0, 1, null],
            [1, 1, 1],
          ],
        },
        sizes,
        kinds,
        0.5,
        0,
      )?.lines[1]?.text,
    ).toBe("Most: others");
  });
});
