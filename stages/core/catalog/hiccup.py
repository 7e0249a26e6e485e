r"""Screen layouts in hiccup notation as plain text lines.

A layout is a tree such as ``[:page [:row [:h2 "Report"] [:p "…"]]]``, with optional attribute
maps ``{:color "white"}`` (contest format). It comes from a model: a third of the layouts
stand in code fences and some are cut off in the middle, so the reader takes what it can
and never fails; what it takes for a closing bracket too many, or misses, changes no words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, TypeAlias, cast

Token: TypeAlias = tuple[str, str]

HEADS = {"h1": "# ", "h2": "## ", "h3": "### "}
ROWS = ("tr", "row")
LEAVES = ("h1", "h2", "h3", "p", "label", "value", "button", "tag", "icon", "th", "td", "other")
DEEPEST = 200
_FENCE = re.compile(r"^\s*(?:`{3,}|~{3,})[^\n]*$", re.MULTILINE)
_TOKEN = re.compile(
    r"""(?P<open>\[)|(?P<close>\])|(?P<map>\{)|(?P<unmap>\})
      |:(?P<tag>[^\s\[\]{}",;]+)
      |"(?P<string>(?:[^"\\]++|\\.)*+)(?:"|\\?$)
      |(?P<word>[^\s\[\]{}",;]+)""",
    re.VERBOSE | re.DOTALL,
)
_ESCAPES = {"n": "\n", "t": "\t", "r": "", '"': '"', "\\": "\\"}


@dataclass
class Node:
    """One element: its tag, and its text and elements in order."""

    tag: str
    items: list[Node | str] = field(default_factory=list)


def text_of(layout: Any) -> str:
    """The words of a layout, one screen line a line, table rows with `` | `` between cells.

    Args:
        layout: Hiccup text, fenced, broken or cut off as it may be; or the same tree as JSON
            lists; anything else gives no text.

    >>> text_of('```clojure\\n[:page [:h2 "Fees"] [:table [:tr [:th "code"] [:td "A1"]')
    '## Fees\\ncode | A1'
    """
    if isinstance(layout, list):
        root = Node("page", [_from_json(layout, 0)])
    elif isinstance(layout, str):
        bare = _FENCE.sub("", layout)
        if "[" not in bare:  # no tree: the words themselves
            return "\n".join(line.strip() for line in bare.splitlines() if line.strip())
        root = _parse(bare)
    else:
        return ""
    return "\n".join(line for line in _lines(root) if line.strip())


def _from_json(value: Any, depth: int) -> Node | str:
    if not isinstance(value, list):
        return "" if isinstance(value, dict) or value is None else str(value)
    tagged = bool(value) and isinstance(value[0], str) and depth < DEEPEST
    rest = value[1:] if tagged else value
    tag = value[0].lstrip(":") if tagged else "other"
    return Node(tag, [] if depth >= DEEPEST else [_from_json(item, depth + 1) for item in rest])


def _tokens(text: str) -> Iterator[Token]:
    for match in _TOKEN.finditer(text):
        yield match.lastgroup or "", match.group(match.lastgroup or 0)


def _parse(text: str, *, maps_hide: bool = True) -> Node:
    """The tree as far as it goes; brackets that do not match are let be.

    Attributes show no words, unless a map is never closed: then braces are passed over, since
    all that follows would be lost with them.
    """
    root = Node("page")
    stack = [root]
    maps = 0
    for kind, value in _tokens(text):
        if kind in ("map", "unmap"):
            maps = max(0, maps + (1 if kind == "map" else -1))
        elif maps and maps_hide:
            continue
        elif kind == "open":
            node = Node("")
            if len(stack) < DEEPEST:
                stack[-1].items.append(node)
            stack.append(node if len(stack) < DEEPEST else stack[-1])
        elif kind == "close":
            if len(stack) > 1:
                stack.pop()
        elif kind == "tag":
            _name(stack[-1], value)
        else:
            stack[-1].items.append(_unescaped(value) if kind == "string" else value)
    return root if not maps or not maps_hide else _parse(text, maps_hide=False)


def _name(node: Node, tag: str) -> None:
    """A keyword first in a bracket is the tag; elsewhere it is a word of the text."""
    if not node.tag and not node.items:
        node.tag = tag.split(".", 1)[0].split("#", 1)[0].lower()
    else:
        node.items.append(tag)


def _unescaped(text: str) -> str:
    return re.sub(r"\\(.)", lambda m: _ESCAPES.get(m[1], m[1]), text, flags=re.DOTALL)


def _lines(node: Node) -> Iterator[str]:
    """Leaves are a line each; rows of a table and rows of leaves are one line."""
    if node.tag in LEAVES and not any(isinstance(item, Node) for item in node.items):
        yield HEADS.get(node.tag, "") + _words(node)
        return
    if node.tag in ROWS and _is_flat(node):
        cells = [_words(item) if isinstance(item, Node) else item.strip() for item in node.items]
        yield " | ".join(cells)
        return
    for is_text, items in groupby(node.items, key=lambda item: isinstance(item, str)):
        if is_text:
            yield " ".join(" ".join(str(item).split()) for item in items)
        else:
            for item in items:
                yield from _lines(cast("Node", item))


def _is_flat(node: Node) -> bool:
    """Whether all cells hold text only."""
    return all(
        isinstance(item, str) or not any(isinstance(inner, Node) for inner in item.items)
        for item in node.items
    )


def _words(node: Node) -> str:
    return " ".join(" ".join(item.split()) for item in node.items if isinstance(item, str)).strip()
