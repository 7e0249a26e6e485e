"""YAML that a user writes, read strictly: every complaint names the file, the line and the column.

What stands in it is checked against a schema of ``schemas/inputs`` by whoever reads it; here
are the bytes, the nodes by their places, and the complaints that all such files share.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from stages.core.errors import DataError, os_words
from stages.core.jsontypes import JsonObject, JsonValue

if TYPE_CHECKING:
    import yaml

LARGEST = 1 << 20
"""Bytes of such a file that are read at most; they are written by hand."""
TEXT = "tag:yaml.org,2002:str"
NO_TEXT, QUOTE_IT = "here stands no text", "put a number or a yes/no in quotes"
EMPTY_TEXT = "here stands an empty text"

Place: TypeAlias = tuple[str | int, ...]
"""Keys and places from the root of a document to a node."""


def read_yaml(path: Path, hint: str) -> bytes:
    """The bytes of a file that is no larger than what a hand writes.

    Args:
        path: The file.
        hint: What to do where it is larger.

    Raises:
        DataError: It cannot be read, or is larger than `LARGEST`.
    """
    try:
        with path.open("rb") as stream:
            raw = stream.read(LARGEST + 1)
    except OSError as error:
        raise DataError(os_words(error), place=str(path)) from None
    if len(raw) > LARGEST:
        raise DataError(f"larger than {LARGEST} bytes", place=str(path), hint=hint)
    return raw


def compose(raw: bytes, place: str) -> yaml.Node | None:
    """The root node of a document; None where it is empty.

    Raises:
        DataError: It is no UTF-8 or no YAML; the place is ``file:line:column``.
    """
    import yaml

    try:
        text = raw.decode("utf-8-sig")
        node: yaml.Node | None = yaml.compose(text, Loader=yaml.SafeLoader)
    except UnicodeDecodeError as error:
        before = raw[: error.start].decode("utf-8-sig")
        raise DataError("not UTF-8", place=f"{place}:{_end(before)}") from None
    except RecursionError:
        raise DataError("nested too deeply", place=place) from None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        at = f"{place}:{mark.line + 1}:{mark.column + 1}" if mark else place
        raise DataError(f"not YAML: {error.problem or error.context}", place=at) from None
    except yaml.reader.ReaderError as error:
        what = f"not YAML: character U+{error.character:04X} may not stand here"
        raise DataError(what, place=f"{place}:{_end(text[: error.position])}") from None
    return node


def _end(before: str) -> str:
    """Line and column of what follows this text."""
    return f"{before.count(chr(10)) + 1}:{len(before) - before.rfind(chr(10))}"


def near(name: str, known: Iterable[str]) -> str:
    """A hint for a name that nobody knows: the nearest right one, then all.

    >>> near("wokers", ["workers", "store"])
    "did you mean 'workers'? known here: workers, store"
    """
    names = list(known)
    found = get_close_matches(name, names, 1)
    meant = f"did you mean {found[0]!r}? " if found else ""
    return f"{meant}known here: {', '.join(names)}"


class YamlText:
    """A composed document as JSON, with the nodes that it came from.

    Args:
        node: The root.
        place: The file.

    Attributes:
        value: The document as JSON.

    Raises:
        DataError: A key stands twice or is no text, or aliases make it grow without end.
    """

    def __init__(self, node: yaml.Node, place: str) -> None:
        self.place = place
        self.nodes: dict[Place, yaml.Node] = {}
        self.keys: dict[Place, yaml.Node] = {}
        try:
            self.value = self._plain(node, ())
        except RecursionError:
            raise DataError("nested too deeply", place=place) from None

    def fail(self, node: yaml.Node, what: str, hint: str = "") -> DataError:
        """The complaint about a node."""
        mark = node.start_mark
        return DataError(what, place=f"{self.place}:{mark.line + 1}:{mark.column + 1}", hint=hint)

    def scalar(self, node: yaml.ScalarNode) -> JsonValue:
        """A scalar as JSON: here only text is one, anything else is None."""
        return str(node.value).strip() if node.tag == TEXT else None

    def _plain(self, node: yaml.Node, path: Place) -> JsonValue:
        """The node as JSON, remembered by its path."""
        import yaml

        self.nodes[path] = node
        # A value takes a byte, unless an alias repeats it, which may do so without end.
        if len(self.nodes) > LARGEST:
            raise self.fail(node, f"more than {LARGEST} values", "write them without aliases")
        if isinstance(node, yaml.SequenceNode):
            return [self._plain(item, (*path, at)) for at, item in enumerate(node.value)]
        if isinstance(node, yaml.ScalarNode):
            return self.scalar(node)
        found: JsonObject = {}
        for key_node, value in node.value:
            key = self._key(key_node)
            if key in found:
                raise self.fail(key_node, f"key {key!r} stands twice")
            self.keys[(*path, key)] = key_node
            found[key] = self._plain(value, (*path, key))
        return found

    def _key(self, node: yaml.Node) -> str:
        import yaml

        if not isinstance(node, yaml.ScalarNode) or node.tag != TEXT:
            raise self.fail(node, NO_TEXT, QUOTE_IT)
        key = str(node.value).strip()
        if not key:
            raise self.fail(node, EMPTY_TEXT)
        return key
