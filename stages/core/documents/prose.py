"""The table of a text that is written by one pattern; none where it is not."""

from __future__ import annotations

from stages.core.documents.content import DocumentContent, DocumentTable


def tables_of_prose(content: DocumentContent) -> list[DocumentTable]:
    """Tables that one pattern of sentences explains; none where it explains too little.

    Args:
        content: A document as it was read; lines of its tables do not count.
    """
    return []
