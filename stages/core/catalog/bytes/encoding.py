"""Which encoding a text file is in, and the whole file as text or as UTF-8 bytes, decompressed
and decoded while it is read.
"""

from __future__ import annotations

import codecs
import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from stages.core.catalog.bytes import sampling
from stages.core.errors import UsageError

_PIECE = 1 << 22  # bytes read at a time


def text_of(path: Path, name: str, errors: str = "strict") -> io.TextIOWrapper:
    """The whole file as text, without a byte order mark.

    Args:
        name: Codec, from the table line's reader.
        errors: What happens to bytes that break it.
    """
    codec = {"utf-8": "utf-8-sig"}.get(name, name)
    file = io.TextIOWrapper(sampling.open_bytes(path), encoding=codec, errors=errors, newline="")
    if name.startswith(("utf-16", "utf-32")) and file.read(1) != "\ufeff":
        file.seek(0)
    return file


def utf8_pieces(path: Path, name: str) -> Iterator[bytes]:
    """The content in UTF-8, without a byte order mark; UTF-8 itself passes unchecked.

    Raises:
        SourceError: The file cannot be opened.
        OSError, EOFError: It cannot be read further on.
    """
    decoder = None if name == "utf-8" else codecs.getincrementaldecoder(name)("replace")
    mark = codecs.BOM_UTF8
    with sampling.open_bytes(path) as file:
        while piece := file.read(_PIECE):
            if decoder:
                piece = decoder.decode(piece).encode("utf-8", "replace")
            yield piece.removeprefix(mark)
            mark = b""
        if decoder:
            yield decoder.decode(b"", final=True).encode("utf-8", "replace")


def is_plain(path: Path, name: str) -> bool:
    """Whether a file is UTF-8 without a byte order mark, as far as its start tells."""
    if name != "utf-8":
        return False
    with sampling.open_bytes(path) as file:
        return file.read(3) != codecs.BOM_UTF8


# Which encoding a text file is in, told from samples of its bytes.

_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_STRUCTURE = ",;\t|\n[{"  # what a data file has at least one of
_WIDE = {"gb18030", "big5hkscs", "cp932", "euc_jis_2004", "cp949"}
_CYRILLIC = ("cp1251", "koi8-r", "koi8-u", "cp866")
_LATIN = ("cp1250", "iso8859-2", "cp1254", "cp1257")
_LEGACY = (*_WIDE, *_CYRILLIC, *_LATIN, "cp1252", "cp1253", "cp1255", "cp1256", "cp874")
_USUAL = ("cp1252", "cp1250", "koi8-r")  # taken where another reads the same text
_SPELT = {"big5hkscs": "big5", "cp949": "euc_kr", "cp932": "shift_jis", "euc_jis_2004": "euc_jp"}
_CLEARLY = 1.35  # how much likelier one is where it is no matter of chance
_CERTAIN = 0.06  # from where on chardet is right also on short text
_CONTROLS = frozenset(
    bytes([code]) for code in {*range(0x80, 0xA0)} - {0x80, 0x85, *range(0x91, 0x9A)}
)
_RUSSIAN = "ОЕАИНТСРВЛКМДПУЯЫЬГЗБЧЙХЖШЮЦЩЭФЪЁ"  # by how often they occur
_LOOK = 1 << 16  # bytes that legacy encodings are weighed on


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
        return _named_by_user(override, head)
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


def _named_by_user(name: str, head: bytes) -> Encoding:
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
    data = _telling(parts)
    text = data.decode("utf-8", "replace")
    broken = text.count("\ufffd")
    if broken * 10 <= sum(1 for char in text if char >= "\x80" and char != "\ufffd"):
        return Encoding("utf-8", 0, "replace", "some bytes are not UTF-8; they are read as U+FFFD")
    able = [(name, weight) for name, weight in _ranked(data) if _all_decode(name, parts, whole)]
    name, other = _likeliest(able, data) if able else ("cp1252", "")
    errors = "strict" if able else "replace"
    doubt = f"; it may be {other} (--encoding {other})" if other else ""
    return Encoding(name, 0, errors, f"not UTF-8; read as {name}, a guess{doubt}")


def _telling(parts: Sequence[bytes]) -> bytes:
    """The samples, or of large ones the lines that hold bytes above ASCII, as many as are
    weighed."""
    if sum(map(len, parts)) <= _LOOK:
        return b"\n".join(parts)
    lines = [line for part in parts for line in part.splitlines() if not line.isascii()]
    return b"\n".join(lines)[:_LOOK]


def _ranked(data: bytes) -> list[tuple[str, float]]:
    """The legacy encodings, the likeliest first, and how likely each is as chardet has it."""
    import chardet

    wanted = set(_LEGACY) - (_WIDE if _stands_alone(data) else set())
    found = chardet.detect_all(
        data, ignore_threshold=True, compat_names=False, include_encodings=wanted
    )
    ranked = [
        (str(item["encoding"]), float(item["confidence"])) for item in found if item["encoding"]
    ]
    if ranked and ranked[0][1] < _CERTAIN:
        capitals = [name for name in _CYRILLIC if _in_capitals(data, name)]
        ranked.sort(key=lambda item: item[0] not in capitals)
    return ranked


def _likeliest(ranked: Sequence[tuple[str, float]], data: bytes) -> tuple[str, str]:
    """The encoding taken, and another that comes near and reads the text otherwise."""
    best, weight = ranked[0]
    weights = dict(ranked)
    if best in _LATIN and weights.get("cp1252", 0.0) * _CLEARLY >= weight:
        best, weight = "cp1252", weight
    texts = {name: data.decode(name, "replace") for name, _ in ranked[:6]}
    texts.setdefault(best, data.decode(best, "replace"))
    usual = (name for name in _USUAL if texts.get(name) == texts[best])
    best = next(usual, best)
    near = (n for n, w in ranked[:6] if w * _CLEARLY >= weight and texts[n] != texts[best])
    return _SPELT.get(best, best), next((_SPELT.get(name, name) for name in near), "")


def _stands_alone(data: bytes) -> bool:
    """Whether each byte above ASCII stands alone between ASCII bytes, as the accented letters
    and signs of Western European text do and the bytes of wide characters do not."""
    runs = re.findall(rb"[\x80-\xff]+", data)
    return all(len(run) == 1 and run not in _CONTROLS for run in runs)


def _in_capitals(data: bytes, name: str) -> bool:
    """Whether an encoding makes common Russian capitals of all bytes above ASCII: two
    encodings swap the cases, and models are made of small letters."""
    text = data.decode(name, "replace")
    letters = [char for char in text if char >= "\x80"]
    mixed = re.search("[A-Za-z][\x80-\uffff]|[\x80-\uffff][A-Za-z]", text)
    if mixed or len(set(letters)) < 4 or not all(char in _RUSSIAN for char in letters):
        return False
    return sum(map(_RUSSIAN.index, letters)) <= 10 * len(letters)
