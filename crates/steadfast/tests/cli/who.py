"""Counts threads, cgroups, files and merged requests of a trace with DuckDB alone."""
import duckdb, json, sys

path = sys.argv[1]


def rows(keys, where="true"):
    found = duckdb.sql(f"""
        select {keys}, count(*), sum(bytes), sum(merged), count(response_ns),
               sum(response_ns) // count(response_ns)
        from '{path}' where {where} group by all""").fetchall()
    return [list(row) for row in found]


print(json.dumps({
    "thread": rows("pid, command, tid, nullif(thread, '')"),
    "cgroup": rows("cgroup"),
    "file": rows("device, inode", "layer = 1"),
    "of_thread": rows("op", "tid = 4242"),
    "of_cgroup": rows("op", "cgroup = 2"),
    "on_file": rows("op", "layer = 1 and device = 1 and inode = 12"),
}))
