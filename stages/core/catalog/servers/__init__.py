"""Database servers as sources: `scan_server` makes the lines, `address.connect` the connections."""

from __future__ import annotations

from stages.core.catalog.servers.address import is_server
from stages.core.catalog.servers.inventory import ServerOptions
from stages.core.catalog.servers.scan import scan_server

__all__ = ["ServerOptions", "is_server", "scan_server"]
