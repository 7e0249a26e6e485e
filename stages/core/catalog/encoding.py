"""Which encoding a text file is in, told from samples of its bytes.

A byte order mark decides; then NUL bytes on one parity (UTF-16 without a mark); then strict
trial decoding: UTF-8 first, then the legacy encodings that decode strictly, the one whose
characters are the most ordinary winning. A guess is always said in a warning.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Sequence
from dataclasses import dataclass

from stages.core.errors import UsageError

_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_STRUCTURE = ",;\t|\n[{"  # what a data file has at least one of
_LEGACY = ("gb18030", "big5", "cp1252")
_LOOK = 1 << 16  # bytes of each sample that legacy encodings are weighed on


@dataclass(frozen=True)
class Encoding:
    """How to turn the bytes of one file into text.

    Args:
        name: Python's name of the codec, without a byte order mark in it.
        mark: Bytes of the byte order mark to skip.
        errors: "strict", or "replace" where single bytes are broken.
        warning: What was guessed or broken; empty where nothing was.
    """

    name: str
    mark: int = 0
    errors: str = "strict"
    warning: str = ""

    @property
    def plain(self) -> bool:
        """Whether DuckDB reads the bytes as they stand: UTF-8, unmarked, unbroken."""
        return self.name == "utf-8" and not self.mark and self.errors == "strict"

    @property
    def unit(self) -> int:
        """Bytes of one code unit: samples start at multiples of it."""
        return 4 if self.name.startswith("utf-32") else 2 if self.name.startswith("utf-16") else 1

    def decode(self, data: bytes, *, first: bool, last: bool) -> str:
        """Text of one sample; a character cut at its end is left out unless it is the last.

        Args:
            data: Bytes as they stand in the file.
            first: Whether they are the file's first (the mark is skipped).
            last: Whether they are the file's last.
        """
        strict = first and last and self.name == "utf-8"
        errors = self.errors if strict else "replace"
        decoder = codecs.getincrementaldecoder(self.name)(errors)
        return decoder.decode(data[self.mark :] if first else data, final=last)


def detect(parts: Sequence[bytes], *, whole: bool, override: str | None = None) -> Encoding:
    """Encoding of a file from its samples, the head first.

    Args:
        parts: Samples in file order; all but the first may start inside a character.
        whole: Whether the first sample is the whole file.
        override: The user's own word, which is only looked up.

    Raises:
        UsageError: No such encoding.
    """
    head = parts[0]
    if override:
        return _chosen(override, head)
    for mark, name in _MARKS:
        if head.startswith(mark):
            return _sound(name, len(mark), parts, whole)
    if b"\0" in head[:_LOOK]:
        name = _unmarked_utf16(head[:_LOOK])
        if name:
            return Encoding(name, warning=f"no byte order mark; read as {name}, a guess")
    if _all_decode("utf-8", parts, whole):
        return Encoding("utf-8")
    return _legacy(parts, whole)


def _chosen(name: str, head: bytes) -> Encoding:
    """The encoding that the user names; a mark that belongs to it is still skipped."""
    try:
        codec = codecs.lookup(name).name.replace("utf-8-sig", "utf-8")
    except LookupError:
        raise UsageError(
            f"no encoding is called {name!r}", hint="try utf-8, gb18030, big5 or cp1252"
        ) from None
    for mark, marked in _MARKS:
        if head.startswith(mark) and marked.startswith(codec):
            return Encoding(marked, len(mark), errors="replace")
    if codec in ("utf-16", "utf-32"):
        codec += "-le"
    return Encoding(codec, errors="replace")


def _sound(name: str, mark: int, parts: Sequence[bytes], whole: bool) -> Encoding:
    """A marked encoding; bytes that break it are replaced, and said."""
    if name != "utf-8" or _all_decode(name, parts, whole):
        return Encoding(name, mark)
    return Encoding(name, mark, "replace", "some bytes are not UTF-8; they are read as U+FFFD")


def _all_decode(name: str, parts: Sequence[bytes], whole: bool) -> bool:
    """Whether all samples decode strictly, but for characters cut at their ends. Samples
    that may start inside a character count from their first line end on."""
    later = (part[part.find(b"\n") + 1 :] for part in parts[1:])
    return _decodes(name, parts[0], 0, whole) and all(
        _decodes(name, part, 4, False) for part in later
    )


def _decodes(name: str, data: bytes, slack: int, whole: bool) -> bool:
    """Whether one sample decodes strictly when up to ``slack`` bytes of its start are left
    out, and, unless it is the whole file, a character cut at its end."""
    for start in range(slack + 1):
        try:
            codecs.getincrementaldecoder(name)("strict").decode(data[start:], final=whole)
            return True
        except UnicodeDecodeError as error:
            if error.start > slack:
                return False
    return False


def _unmarked_utf16(head: bytes) -> str:
    """UTF-16 told by its NUL bytes, nearly all on one parity; empty where it is not."""
    even, odd = head[0::2].count(0), head[1::2].count(0)
    if even + odd < max(1, len(head) // 50):
        return ""
    name = "utf-16-le" if odd > even else "utf-16-be"
    if min(even, odd) * 10 > max(even, odd) or not _decodes(name, head, 0, False):
        return ""
    text = head.decode(name, "replace")
    return name if any(mark in text for mark in _STRUCTURE) else ""


def _legacy(parts: Sequence[bytes], whole: bool) -> Encoding:
    """The likeliest encoding of bytes that are not UTF-8 throughout."""
    data = b"\n".join(part[:_LOOK] for part in parts)
    if not _high(data):  # the broken bytes lie deeper in the samples
        data = b"\n".join(parts)
    text = data.decode("utf-8", "replace")
    broken = text.count("\ufffd")
    if broken * 10 <= sum(1 for char in text if char >= "\x80" and char != "\ufffd"):
        return Encoding("utf-8", 0, "replace", "some bytes are not UTF-8; they are read as U+FFFD")
    able = [name for name in _LEGACY[:2] if _all_decode(name, parts, whole)]
    weights = {name: _ordinary(data.decode(name, "replace")) for name in able}
    weights["cp1252"] = _lonely(data)
    name = max(weights, key=lambda name: weights[name])
    errors = "strict" if name in able else "replace"
    return Encoding(name, 0, errors, f"not UTF-8; read as {name}, a guess")


def _high(data: bytes) -> bytes:
    """The bytes above ASCII."""
    return data.translate(None, bytes(range(128)))


def _ordinary(text: str) -> float:
    """Share of the characters above ASCII that stand in the first, commonest planes of
    GB 2312 (rows 16–55) or Big5 (A4–C6), or are full-width punctuation."""
    chars = [char for char in text if char >= "\x80"]
    return sum(map(_common, chars)) / len(chars) if chars else 0.0


def _common(char: str) -> bool:
    """Whether a character is everyday Chinese, simplified or traditional."""
    if "\u3000" <= char <= "\u303f" or "\uff00" <= char <= "\uff65":
        return True
    if not "\u4e00" <= char <= "\u9fff":
        return False
    simple, full = char.encode("gb2312", "ignore"), char.encode("big5", "ignore")
    return (simple[:1] >= b"\xb0" and simple[:1] <= b"\xd7") or b"\xa4" <= full[:1] <= b"\xc6"


def _lonely(data: bytes) -> float:
    """Share of the bytes above ASCII that stand alone between ASCII bytes, as the accented
    letters of Western European text do and the byte pairs of Chinese do not."""
    runs = [len(run) for run in re.findall(rb"[\x80-\xff]+", data)]
    return runs.count(1) / sum(runs) if runs else 0.0
