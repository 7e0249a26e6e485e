"""Who may run queries on a server: a role that can read and nothing else.

The gate holds for a superuser as well, but it is one wall. A role that can only read is a
second, which stands on the server; whoever goes on without it says so with a flag.
"""

from __future__ import annotations

from stages.core import diagnostics
from stages.core.catalog.servers.address import Address
from stages.core.catalog.servers.scan import reader_of
from stages.core.errors import UsageError

_told: set[str] = set()
UNKNOWN = "do what it does not tell: its grants cannot be read"


def admit(con: object, where: Address, *, privileged: bool) -> None:
    """Let a connection run queries, if its role can only read or someone answers for it.

    Args:
        con: An open connection.
        where: The server.
        privileged: Whether a role that can do more is let in; what it can do is then told once.

    Raises:
        UsageError: The role can do more than read.
    """
    try:
        found = reader_of(where.kind).beyond_reading(con)
    except Exception:
        found = [UNKNOWN]
    if not found:
        return
    can = "; ".join(found)
    if not privileged:
        raise UsageError(
            f"the role can {can}",
            place=where.safe,
            hint="query with a role that has SELECT only, or go on with --allow-privileged",
        )
    if where.safe not in _told:
        _told.add(where.safe)
        diagnostics.note(f"the role can {can}; queries run read-only all the same")
