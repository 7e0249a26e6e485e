"""The one reader of data; `scan` says what it is made of. Its functions are imported when they are
first asked for, since who asks for the state of a file needs none of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from stages.core.catalog.build import ScanResult
    from stages.core.catalog.scan import load_table, scan_files, scan_root
    from stages.core.catalog.source_table import ScanOptions

__all__ = ["ScanOptions", "ScanResult", "load_table", "scan_files", "scan_root"]


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(name)
    from stages.core.catalog import scan

    return getattr(scan, name)
