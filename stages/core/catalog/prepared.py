"""The mark of tables that `prepare` made from documents; such tables are always kept.

Documents were judged once when they were prepared, so judging their tables again would
filter twice (first seed, 2.2). Any one of three signs suffices:

- an SQLite file holds a table named ``_winnow_prepared`` (its content is free, and it is no
  table of the catalog); this marks every table of the file;
- a file ``.prepared.json`` lies beside the data file; this marks every table of every file
  in that folder, not in the folders below it;
- the data file's stem is ``_doc_extracted``.
"""

from __future__ import annotations

from pathlib import Path

MARK_TABLE = "_winnow_prepared"
MARK_FILE = ".prepared.json"
STEM = "_doc_extracted"


def marked(path: Path) -> bool:
    """Whether the data file at ``path`` is known as prepared without opening it."""
    return path.name.split(".", 1)[0] == STEM or (path.parent / MARK_FILE).is_file()
