"""The text of a task's video: what was said and what stood on the screen, by time.

Made from ``video_input.json`` of the preprocessing step (contest format): a frame comes
first, then what is said until the next frame. Numbers and names on the screen outrank
speech, so both are marked. ``timeline.txt``, speech only, is the fallback.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from stages.core.catalog.discover import inside
from stages.core.catalog.documents import read_text
from stages.core.catalog.hiccup import text_of

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


@dataclass(frozen=True, order=True)
class Moment:
    """One piece of text; at the same second the screen comes before speech."""

    start: float
    kind: int
    place: int
    end: float
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


def interleave(record: dict[str, Any]) -> str:
    """Screen and speech of one ``video_input.json`` record, in the order of time.

    A screen that shows what the one before it showed is not repeated. What is missing or of
    another shape than expected is passed over.
    """
    moments = sorted([*_screens(record), *_speech(record)])
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


def _screens(record: dict[str, Any]) -> Iterator[Moment]:
    """Frames of the timeline, else of ``frames``; layouts that belong to no frame go last."""
    layouts = record.get("hiccup")
    layouts = layouts if isinstance(layouts, dict) else {}
    by_name = {str(path).replace("\\", "/").rsplit("/", 1)[-1]: path for path in layouts}
    frames = _timeline(record, "frame") or _dicts(record.get("frames"))
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
            start = _first_time(frame, "t_start", "t", "burst_start")
            yield Moment(start, SCREEN, place, start, text)
    end = max((_first_time(f, "t_start", "t", "burst_start") for f in frames), default=0.0)
    for place, (path, layout) in enumerate(layouts.items(), len(frames)):
        if path not in used and (text := text_of(layout)):
            yield Moment(end, SCREEN, place, end, text)


def _speech(record: dict[str, Any]) -> Iterator[Moment]:
    """Speech of the timeline, else the segments of the transcript, else its whole text."""
    transcript = record.get("transcript")
    spoken = _timeline(record, "speech")
    if not spoken and isinstance(transcript, dict):
        spoken = _dicts(transcript.get("segments")) or [transcript]
    elif not spoken:
        spoken = [{"text": transcript}] if isinstance(transcript, str) else _dicts(transcript)
    for place, item in enumerate(spoken):
        text = " ".join(str(item.get("text") or _joined(item.get("words"))).split())
        if text:
            start = _first_time(item, "t_start", "start")
            end = _first_time(item, "t_end", "end") or start
            yield Moment(start, SPEECH, place, end, text)


def _joined(words: Any) -> str:
    """Whisper's words carry their own spaces."""
    return "".join(str(word.get("word", "")) for word in _dicts(words))


def _timeline(record: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    return [item for item in _dicts(record.get("timeline")) if item.get("type") == kind]


def _dicts(value: Any) -> list[dict[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _first_time(item: dict[str, Any], *keys: str) -> float:
    """Seconds under the first of the keys that holds a number; 0 where none does."""
    for key in keys:
        value = item.get(key)
        if isinstance(value, int | float) and not isinstance(value, bool) and value == value:
            return min(max(float(value), 0.0), 1e9)
    return 0.0


def _clock(seconds: float) -> str:
    """``mm:ss`` with a tenth where there is one; hours run on in the minutes."""
    tenths = round(seconds * 10)
    minutes, rest = divmod(tenths, 600)
    whole, tenth = divmod(rest, 10)
    return f"{minutes:02}:{whole:02}" + (f".{tenth}" if tenth else "")
