"""Queries on a database server, in place and in its own dialect, behind the gate.

`route` says which statements go there, `gate.check` lets them through, and an engine runs
them: the `ENGINE` of the module that is named as the kind of server.
"""

from __future__ import annotations

from stages.core.sandbox.servers.route import dialect_of, engine_for, route

__all__ = ["dialect_of", "engine_for", "route"]
