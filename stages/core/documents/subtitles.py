"""Subtitles: SubRip and WebVTT, one line a cue with its time."""

from __future__ import annotations

import re

from stages.core.documents.content import Reading

_TIME = r"(?:(\d{1,3}):)?(\d{1,2}):(\d{2})[.,](\d{1,3})"
_CUE = re.compile(rf"\s*{_TIME}\s*-->\s*{_TIME}")
_TAG = re.compile(r"<[^<>]{0,100}>|\{\\[^{}]{0,100}\}")


def read_subtitles(lines: list[str]) -> Reading:
    """One line a cue: ``HH:MM:SS.mmm --> HH:MM:SS.mmm``, a tab, and what is said."""
    reading = Reading()
    time, said = "", list[str]()
    for line in [*lines, ""]:
        if found := _CUE.match(line):
            parts = found.groups()
            time, said = f"{_clock(parts[:4])} --> {_clock(parts[4:])}", []
        elif line.strip():
            said.append(_TAG.sub("", line).strip())
        elif time:
            reading.lines.append(f"{time}\t{' '.join(said)}".rstrip())
            time = ""
    if not reading.lines and any(map(str.strip, lines)):
        reading.lines = lines
        reading.warnings.append("holds no cue with a time; read as text")
    return reading


def _clock(parts: tuple[str | None, ...]) -> str:
    hours, minutes, seconds, thousandths = (part or "0" for part in parts)
    return f"{int(hours):02d}:{int(minutes):02d}:{seconds}.{thousandths.ljust(3, '0')}"
