"""Where one value stands: whole, as a part of others, or in a near spelling."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias

from stages.core.counts import many
from stages.core.errors import DataError
from stages.core.records import Catalog, Table
from stages.core.values.index import ValueIndex, ValuePlace, folded
from stages.core.values.lookup import CatalogValues

if TYPE_CHECKING:
    from stages.core.sandbox.session import Data

How: TypeAlias = Literal["exact", "whole", "part", "near"]
"""As it is written; but for case, width and spaces; inside another value; in a near spelling."""

LOOKED_THROUGH = 150_000
"""Values looked through for parts and near spellings: some 50 ms."""
LEAST_PART = 2
"""Characters from which a text is looked for inside others."""
ALIKE = 80.0
"""Share of letters in common, in percent (rapidfuzz's ratio), of a near spelling."""
MOST_NEAR = 10


@dataclass
class Finding:
    """The places of a value, the best first, and what was not looked at."""

    places: list[tuple[How, ValuePlace]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def find(
    catalog: Catalog,
    tables: Sequence[Table],
    text: str,
    *,
    most: int,
    seconds: float,
    privileged: bool = False,
) -> Finding:
    """The places of a value in the data of a catalog.

    Args:
        catalog, tables: Its lines.
        text: The value.
        most: Places at most.
        seconds: Time for reading what no earlier run has read.
        privileged: Whether a server is asked as a role that can do more than read.

    Raises:
        DataError: There is no data, or the index cannot be used.
    """
    if any("url" in table.get("source", {}) for table in tables):
        return _on_server(catalog, tables, text, most, privileged)
    if "root" not in catalog or not any("path" in table.get("source", {}) for table in tables):
        raise DataError("the catalog has no data", place=catalog["name"], hint="scan the data")
    values = CatalogValues(catalog, tables, seconds=seconds)
    try:
        found = _in_index(values, text, most)
    except (OSError, sqlite3.Error) as error:
        hint = "set WINNOW_CACHE to a folder that can be written"
        raise DataError(f"the value index cannot be used: {error}", hint=hint) from None
    finally:
        values.close()
    found.notes += values.notes
    return found


def _in_index(values: CatalogValues, text: str, most: int) -> Finding:
    found, key, index = Finding(), folded(text), values.index()
    whole = index.between(key, f"{key}\0", most + 1)
    exact = [place for place in whole if place.value == text]
    found.places += [("exact", place) for place in exact]
    found.places += [("whole", place) for place in whole if place.value != text]
    if len(key) >= LEAST_PART and len(found.places) <= most:
        parts, all_seen = index.containing(key, most + 1, LOOKED_THROUGH)
        known = {(place.table, place.column, place.value) for place in whole}
        found.places += [
            ("part", at) for at in parts if (at.table, at.column, at.value) not in known
        ]
        if not all_seen:
            rest = index.count() - LOOKED_THROUGH
            found.notes.append(f"parts were not looked for in {many(rest, 'value')} more")
    if not found.places:
        found.places += [("near", place) for place in _near(index, key)]
    found.places = [(how, at) for how, at in found.places if values.shows(at)]
    if len(found.places) > most:
        found.notes.append(f"the first {most} places; --most shows more")
        del found.places[most:]
    return found


def _near(index: ValueIndex, key: str) -> Iterator[ValuePlace]:
    """Places of the nearest spellings, of values that begin alike or are among the first."""
    from rapidfuzz import fuzz, process

    begin = key[:1]
    near = index.between(begin, f"{begin}\U0010ffff", LOOKED_THROUGH) if begin else []
    places: dict[str, list[ValuePlace]] = {}
    for place in [*near, *index.between("", "\U0010ffff", LOOKED_THROUGH // 3)]:
        places.setdefault(folded(place.value), []).append(place)
    best = process.extract(
        key, list(places), scorer=fuzz.ratio, score_cutoff=ALIKE, limit=MOST_NEAR
    )
    for spelling, _, _ in best:
        yield from dict.fromkeys(places[spelling])


def _on_server(
    catalog: Catalog, tables: Sequence[Table], text: str, most: int, privileged: bool
) -> Finding:
    """Whole values on a server; the statements are `core.values.server`'s.

    Raises:
        DataError: The server is out of reach.
    """
    from stages.core.sandbox.limits import Limits
    from stages.core.sandbox.session import Data, SessionOptions
    from stages.core.values.server import ServerValues

    data: Data = Data(catalog, tables, SessionOptions(limits=Limits(privileged=privileged)))
    try:
        asked = ServerValues(tables, data)
        hits = asked([text]).get(text, [])
    finally:
        data.close()
    if asked.error:
        raise DataError(asked.error, place=catalog["name"])
    found = Finding(notes=[*asked.notes, "a server is asked for whole values only"])
    found.places += [("whole", ValuePlace(table, column, text, 0)) for table, column in hits[:most]]
    return found
