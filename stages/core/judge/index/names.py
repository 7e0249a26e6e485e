"""Tables under the names that their sources give them.

A canonical name is lower case and has ``_`` for every dot, so that it no longer shows where the
database and schema end (``db.hr.Staff``), where a word begins (``ProductCost``) and what is an
abbreviation (``ORCT``). The judge reads the source's own spelling, and answers in canonical names.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from stages.core.judge.index.keys import last_name
from stages.core.names import canonical
from stages.core.records import Table


def spelled(tables: Sequence[Table]) -> list[Table]:
    """The tables under their sources' names, and so in what refers to them.

    >>> spelled([{"kind": "table", "name": "hr_staff", "aliases": ["HR.Staff"],
    ...           "describe_key": "HR.Staff", "columns": []}])[0]["name"]
    'HR.Staff'
    """
    own = {table["name"]: spelling(table) for table in tables}
    if all(name == other for name, other in own.items()):
        return list(tables)
    return [_renamed(table, own) for table in tables]


def spelling(table: Table) -> str:
    """The alias that the canonical name was made from; the name itself where there is none.

    A dot in the name of a file parts no database from a table.
    """
    name = table["name"]
    found = next((alias for alias in table.get("aliases", ()) if canonical(alias) == name), name)
    return found.replace(".", "_") if "path" in table.get("source", {}) else found


def _renamed(table: Table, own: dict[str, str]) -> Table:
    """A copy of one table with names from ``own``."""
    made: Table = {**table, "name": own[table["name"]]}
    if "foreign_keys" in table:
        made["foreign_keys"] = [
            {**key, "ref_table": own.get(key["ref_table"], key["ref_table"])}
            for key in table["foreign_keys"]
        ]
    return made


def root(name: str) -> str:
    """The root of a cryptic table name: three or four capitals, a leading letter that says what
    kind of table it is, a number at the end. Other names are their own root.

    >>> root("ORCT") == root("RCT1") == root("ARCT"), root("orders")
    (True, 'orders')
    """
    found = re.fullmatch(r"[A-Z]?([A-Z]{3})\d{0,2}", last_name(name))
    return found[1] if found else name
