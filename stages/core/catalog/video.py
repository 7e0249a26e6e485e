"""The text of a task's video by time, with screen layouts in hiccup notation as lines.

Screen layouts in hiccup notation as plain text lines.

A layout is a tree such as ``[:page [:row [:h2 "Report"] [:p "…"]]]``, with optional attribute
maps ``{:color "white"}`` (contest format). It comes from a model: a third of the layouts
stand in code fences and some are cut off in the middle, so the reader takes what it can
and never fails; what it takes for a closing bracket too many, or misses, changes no words.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import TypeAlias, TypeGuard, cast

import orjson

from stages.core.catalog.discover import inside
from stages.core.catalog.documents import read_text

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


def text_of(layout: object) -> str:
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


def _from_json(value: object, depth: int) -> Node | str:
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


# The text of a task's video: what was said and what stood on the screen, by time.

INPUT = "video_input.json"
TIMELINE = "timeline.txt"
PLACES = (
    "workdir/_video_frames",
    "_video_frames",
    "context/_video_frames",
    "context/video/_video_frames",
    "context/video",
    "context",
    "workdir",
    "",
)
SPEECH, SCREEN = 1, 0


@dataclass(frozen=True)
class Moment:
    """One piece of text.

    Attributes:
        kind: `SCREEN` or `SPEECH`.
        place: Its number among those of its kind.
        start, end: Seconds, as they are shown.
        at: Seconds that say which screen it belongs to.
        text: One or more lines.
    """

    kind: int
    place: int
    start: float
    end: float
    at: float
    text: str


def find(roots: list[Path]) -> tuple[str, list[str]]:
    """The video text of a task, and what was wrong with its files.

    Args:
        roots: Folders to look under, the task root first; links that leave them are not
            followed.

    Returns:
        The text, empty where there is no video; and warnings.
    """
    warnings: list[str] = []
    for name, read in ((INPUT, _from_input), (TIMELINE, read_text)):
        for path in _places(roots, name):
            try:
                text = read(path).strip()
            except (OSError, ValueError) as error:
                warnings.append(f"{path.name}: {_short(error)}")
                continue
            if text:
                return text, warnings
            warnings.append(f"{path.name} holds no text")
    return "", warnings


def _places(roots: list[Path], name: str) -> Iterator[Path]:
    seen = set()
    for root in roots:
        for place in PLACES:
            path = root / place / name
            if path not in seen and inside(root, path):
                seen.add(path)
                yield path


def _short(error: Exception) -> str:
    return str(error).splitlines()[0][:200] if str(error) else type(error).__name__


def _from_input(path: Path) -> str:
    record = orjson.loads(path.read_bytes().removeprefix(b"\xef\xbb\xbf"))
    if not isinstance(record, dict):
        raise ValueError("not an object")
    return interleave(record)


def interleave(record: dict[str, object]) -> str:
    """Screen and speech of one ``video_input.json`` record, in the order of time.

    Each screen stands before what is said until the next one. The timeline gives the order by
    ``t_start``; without one a frame counts from the start of its burst, and a word, or a segment
    that has no words, by its middle, so that a segment is split where the screen changes in it.
    A screen that shows what the one before it showed is not repeated. What is missing or of
    another shape than expected is passed over.
    """
    screens = list(_screens(record))
    changes = sorted(screen.at for screen in screens)
    moments = [*screens, *_speech(record, changes)]
    moments.sort(key=lambda m: (bisect_right(changes, m.at), m.kind, m.start, m.place))
    lines: list[str] = []
    shown = None
    for moment in moments:
        if moment.kind == SCREEN:
            if moment.text != shown:
                lines.append(f"[{_clock(moment.start)}] screen:\n{moment.text}")
            shown = moment.text
        else:
            lines.append(f"[{_clock(moment.start)}-{_clock(moment.end)}] speech: {moment.text}")
    return "\n".join(lines)


def _screens(record: dict[str, object]) -> Iterator[Moment]:
    """Frames of the timeline, else of ``frames``; layouts that belong to no frame go last."""
    layouts = record.get("hiccup")
    layouts = layouts if isinstance(layouts, dict) else {}
    by_name = {str(path).replace("\\", "/").rsplit("/", 1)[-1]: path for path in layouts}
    timed = _timeline(record, "frame")
    frames = timed or _dicts(record.get("frames"))
    times = ("t_start", "t", "burst_start") if timed else ("burst_start", "t_start", "t")
    used = set()
    for place, frame in enumerate(frames):
        path = frame.get("path")
        key = (
            path
            if path in layouts
            else by_name.get(str(path).replace("\\", "/").rsplit("/", 1)[-1])
        )
        used.add(key)
        text = text_of(frame.get("hiccup")) or text_of(layouts.get(key))
        if text:
            start = _first_time(frame, *times)
            yield Moment(SCREEN, place, start, start, start, text)
    end = max((_first_time(frame, *times) for frame in frames), default=0.0)
    for place, (path, layout) in enumerate(layouts.items(), len(frames)):
        if path not in used and (text := text_of(layout)):
            yield Moment(SCREEN, place, end, end, end, text)


def _speech(record: dict[str, object], changes: Sequence[float]) -> Iterator[Moment]:
    """Speech of the timeline, else the segments of the transcript, else its whole text.

    Args:
        record: The record.
        changes: Seconds at which the screen changes, ascending.
    """
    transcript = record.get("transcript")
    spoken = _timeline(record, "speech")
    timed = bool(spoken)
    if not spoken and isinstance(transcript, dict):
        spoken = _dicts(transcript.get("segments")) or [transcript]
    elif not spoken:
        spoken = [{"text": transcript}] if isinstance(transcript, str) else _dicts(transcript)
    for place, item in enumerate(spoken):
        for text, start, end in [_whole(item)] if timed else _parts(item, changes):
            if text:
                at = start if timed else (start + end) / 2
                yield Moment(SPEECH, place, start, end, at, text)


def _whole(item: dict[str, object]) -> tuple[str, float, float]:
    """Text, start and end of one piece of speech."""
    text = " ".join(str(item.get("text") or _join(item.get("words"))).split())
    start = _first_time(item, "t_start", "start")
    return text, start, _first_time(item, "t_end", "end") or start


def _parts(item: dict[str, object], changes: Sequence[float]) -> Iterator[tuple[str, float, float]]:
    """The same, in parts where the screen changes between the middles of two words."""
    words = [word for word in _dicts(item.get("words")) if _is_time(word.get("start"))]
    screens = [
        list(part) for _, part in groupby(words, lambda w: bisect_right(changes, _middle(w)))
    ]
    if len(screens) < 2:
        yield _at_words(_whole(item), words)
        return
    for part in screens:
        yield _at_words((" ".join(_join(part).split()), 0.0, 0.0), part)


def _at_words(
    whole: tuple[str, float, float], words: Sequence[dict[str, object]]
) -> tuple[str, float, float]:
    """The text from its first word to its last; as it is where the words have no times."""
    if not words:
        return whole
    start = _first_time(words[0], "start")
    return whole[0], start, max(_first_time(words[-1], "end"), start)


def _middle(word: dict[str, object]) -> float:
    start = _first_time(word, "start")
    return (start + max(_first_time(word, "end"), start)) / 2


def _join(words: object) -> str:
    """Whisper's words carry their own spaces."""
    return "".join(str(word.get("word", "")) for word in _dicts(words))


def _timeline(record: dict[str, object], kind: str) -> list[dict[str, object]]:
    return [item for item in _dicts(record.get("timeline")) if item.get("type") == kind]


def _dicts(value: object) -> list[dict[str, object]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _first_time(item: dict[str, object], *keys: str) -> float:
    """Seconds under the first of the keys that holds a number; 0 where none does."""
    for key in keys:
        value = item.get(key)
        if _is_time(value):
            return min(max(float(value), 0.0), 1e9)
    return 0.0


def _is_time(value: object) -> TypeGuard[float]:
    """Whether it is a number, and not NaN."""
    return isinstance(value, int | float) and not isinstance(value, bool) and value == value


def _clock(seconds: float) -> str:
    """``mm:ss`` with a tenth where there is one; hours run on in the minutes."""
    tenths = round(seconds * 10)
    minutes, rest = divmod(tenths, 600)
    whole, tenth = divmod(rest, 10)
    return f"{minutes:02}:{whole:02}" + (f".{tenth}" if tenth else "")
