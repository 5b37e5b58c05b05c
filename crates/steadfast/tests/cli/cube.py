"""Runs a query of docs/trace.md over a cube file with DuckDB; prints its rows as JSON."""
import json, sys

import duckdb

page, file, what = sys.argv[1:]
text = open(page, encoding="utf-8").read()
query = text[text.index(f"-- {what} of a cube file"):]
query = query[:query.index("```")].replace("all.fold", file)
rows = duckdb.sql(query)
print(json.dumps([dict(zip(rows.columns, row)) for row in rows.fetchall()], default=int))
