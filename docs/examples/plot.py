"""IOPS by round, one line for each load of each run.

    steadfast export parquet RUN_DIR RUN_DIR -o steps.parquet
    python3 plot.py steps.parquet iops.png
"""
import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plot
import pyarrow.parquet as parquet

table, picture = sys.argv[1:3]
columns = ["run", "device_model", "round", "load", "demand", "iops"]
lines = {}
for row in parquet.read_table(table, columns=columns).to_pylist():
    if row["round"] and row["iops"] is not None:
        name = f'{row["device_model"] or row["run"]}: {row["load"]} {row["demand"]}'
        lines.setdefault(name, []).append((row["round"], row["iops"]))

figure, axes = plot.subplots(figsize=(11, 6), layout="constrained")
for number, (name, points) in enumerate(sorted(lines.items())):
    axes.plot(*zip(*sorted(points)), "-:"[number // 10 % 2], marker="o", label=name)
axes.set(xlabel="Round", ylabel="IOPS", title="IOPS by round", yscale="log")
axes.grid(alpha=0.3)
figure.legend(loc="outside right upper", fontsize="x-small")
figure.savefig(picture, dpi=120)
print(f"{len(lines)} lines, {sum(map(len, lines.values()))} points: {picture}")
