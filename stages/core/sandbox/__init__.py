"""Read-only SQL that holds: one statement, within rows, seconds and bytes.

The layers, since each one alone has been broken: a trusted loader makes one DuckDB file per
table (`engine.store`); the statement is parsed, checked against lists and written anew (package
`gate`, other dialects by `forms`); a child process that can be killed (`engine.child`) attaches
the files read-only, locks the engine, gives up opening anything, and checks the statement once
more with the engine's own parser. Statements on a server run there (package `servers`).
"""
