"""Adds up the measured content of a trace with DuckDB alone: by step, process and device."""
import duckdb, json, sys

path, step_ns = sys.argv[1], int(sys.argv[2])


def sums(key):
    found = duckdb.sql(f"""
        select {key}, sum(sampled_blocks), sum(sampled_bytes), sum(compressed_bytes),
               sum(duplicate_blocks)
        from '{path}' where sampled_blocks > 0 group by all""").fetchall()
    return {str(row[0]): [int(number) for number in row[1:]] for row in found}


print(json.dumps({
    "steps": sums(f"issued_ns // {step_ns}"),
    "processes": sums("pid"),
    "devices": sums("device"),
}))
