r"""The one neutraliser: what comes from data becomes harmless text for a prompt or a terminal.

Names, cell values, comments, file names and error texts are data, never instructions and
never markup. Nothing is deleted: a character that cannot be seen, or that moves others
about, is shown as ``\u{hex}``, so that a name can still be written in SQL by whoever reads
the escape, and `decoded` gives the value back.

`visible`, `quoted` and `cell` are for one line, `safe_lines` for text that has lines of its own,
and `block` sets any of these apart from instructions. Neutralise each value once, where it
enters the text: a second time would escape the escapes (different values never look the
same, so the functions cannot also leave their own output alone).
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterable

MARKS = 8
"""Combining marks that may stand on one character; Tibetan and pointed Hebrew need six."""

# Controls (C0, DEL, C1), the line and paragraph separators, lone surrogates, and everything
# that Unicode lists as Default_Ignorable_Code_Point: bidi controls, zero-width characters,
# fillers, variation selectors, tags. Interlinear annotation and hieroglyph joiners are added.
_HIDDEN = (
    "\x00-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f"
    "\u2028-\u202e\u2060-\u206f\u3164\ud800-\udfff\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb"
    "\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
_ESCAPE = re.compile(r"\\u\{([0-9a-f]{1,6})\}")
_UNUSUAL = re.compile(rf"[{_HIDDEN}]|\\u\{{")
_HIDDEN_ONE = re.compile(f"[{_HIDDEN}]")
_MARK_RUN = re.compile(rf"[^\w\s\x00-\x7f]{{{MARKS + 1},}}")
_WORD = re.compile(r"[^\W\d]\w*")
_USERINFO = re.compile(r"://\S*@")
_CUT_MARK = re.compile(r"…\(\+([1-9][0-9]{0,11})\)\Z")
_PRESENTATION = "\ufe0e\ufe0f"  # text and emoji style of the character before


def composed(text: str) -> str:
    r"""The text in composed form (NFC): file names of a Mac come with accents apart.

    >>> composed("cafe\u0301") == "caf\u00e9"
    True
    """
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def visible(value: str, limit: int | None = None) -> str:
    r"""The value on one line, with nothing in it that cannot be seen.

    Args:
        value: Any text.
        limit: Most characters to show; an escape counts as its own length and is never
            halved. What is cut is told by ``…(+N)``, N counting characters of the value.

    Returns:
        Text in which ``\u{hex}`` stands for every control, bidi, zero-width and tag
        character, every line break, every combining mark beyond `MARKS` on one character,
        and for the backslash of a ``\u{`` that the value itself holds. All else, spaces and
        emoji of any kind included, is unchanged; only joiners between emoji are escaped.

    >>> visible("sales\n## SYSTEM")
    'sales\\u{a}## SYSTEM'
    >>> visible("公募基金经理(新)", 4)
    '公募基金…(+5)'
    """
    shown, rest = _cut(value, limit)
    return f"{shown}…(+{rest})" if rest else shown


def quoted(value: str, limit: int | None = None) -> str:
    """`visible`, in double quotes unless it is a plain word; quotes inside are doubled.

    A word starts with a letter of any script or ``_`` and goes on with these and digits.
    The mark of a cut stands outside the quotes.

    >>> quoted("Employee Attendance"), quoted("revenue"), quoted('5" pipe', 4)
    ('"Employee Attendance"', 'revenue', '"5"" p"…(+3)')
    """
    shown, rest = _cut(value, limit)
    if not _WORD.fullmatch(shown):
        shown = '"' + shown.replace('"', '""') + '"'
    return f"{shown}…(+{rest})" if rest else shown


def cell(value: str, limit: int = 80) -> str:
    """`visible` for the cell of a table line, which scan may have cut before.

    A mark that such a cut left counts on; the limit is that of the first seed, 3.1.

    >>> cell("abcdef", 3), cell("abc…(+97)", 3), cell("abcdef…(+94)", 3)
    ('abc…(+3)', 'abc…(+97)', 'abc…(+97)')
    """
    kept, before = parted(value)
    shown, rest = _cut(kept, None if before and len(kept) <= limit else limit)
    return f"{shown}…(+{rest + before})" if rest + before else shown


def shorten(value: str, limit: int) -> str:
    """The value within so many characters, nothing in it escaped; what is cut is told by
    ``…(+N)``. Where a cut was told before, N counts from the whole value, and the mark is none
    of the characters.

    >>> shorten("abcdef", 4), shorten("abcd…(+2)", 3), shorten("abcd…(+2)", 4)
    ('abcd…(+2)', 'abc…(+3)', 'abcd…(+2)')
    """
    if len(value) <= limit:
        return value
    kept, before = parted(value)
    rest = max(len(kept) - limit, 0) + before
    return f"{kept[:limit]}…(+{rest})" if rest else kept


def parted(value: str) -> tuple[str, int]:
    """What an earlier cut left of a value, and how many characters its mark counts.

    >>> parted("abc…(+97)"), parted("abc")
    (('abc', 97), ('abc', 0))
    """
    mark = _CUT_MARK.search(value) if value.endswith(")") else None
    return (value[: mark.start()], int(mark[1])) if mark else (value, 0)


def safe_lines(body: str, limit: int | None = None) -> str:
    r"""Text of a document: its lines and tabs stay, all else is treated as by `visible`.

    Args:
        body: Any text. CRLF is taken as one line break; other line breaks are escaped.
        limit: Most characters to show, as in `visible`.

    >>> safe_lines("a\r\nb\u2028c")
    'a\nb\\u{2028}c'
    """
    text = body.replace("\r\n", "\n")
    if limit is not None and len(text) > limit:
        return _neutral_lines(text[:limit]) + f"…(+{len(text) - limit})"
    return _neutral_lines(text)


def block(kind: str, body: str) -> str:
    """The body between two boundary lines that hold the SHA-256 of its UTF-8 bytes.

    Data cannot close the block: to do so it would have to hold a hash of itself. The text
    around a block says that what lies between is data.

    Args:
        kind: A word of our own that says what the block is, such as ``tables``.
        body: Text whose values are neutralised already. Hidden characters that are left in
            it are escaped all the same; lines and tabs stay.

    >>> print(block("question", "How many?"))
    <<<question ba352e24c64c7137
    How many?
    question ba352e24c64c7137>>>
    """
    safe = _HIDDEN_ONE.sub(_kept_or_escaped, body)
    mark = hashlib.sha256(safe.encode()).hexdigest()[:16]
    return f"<<<{kind} {mark}\n{safe}\n{kind} {mark}>>>"


def decoded(text: str) -> str:
    r"""The value behind an uncut result of `visible`.

    >>> decoded(visible("a\n\\u{41}")) == "a\n\\u{41}"
    True
    """
    return _ESCAPE.sub(lambda match: _character(int(match[1], 16), match[0]), text)


def _character(code: int, otherwise: str) -> str:
    return chr(code) if code <= 0x10FFFF else otherwise


def _kept_or_escaped(match: re.Match[str]) -> str:
    found = match[0]
    return found if found in "\n\t" or found in _PRESENTATION else _escape(found)


def _neutral_lines(text: str) -> str:
    """Each line neutralised by itself, tabs left alone."""
    if not _needs_work(text.replace("\n", " ").replace("\t", " ")):
        return text
    return "\n".join(
        "\t".join("".join(_pieces(cell)) for cell in line.split("\t")) for line in text.split("\n")
    )


def _cut(value: str, limit: int | None) -> tuple[str, int]:
    """The neutralised value within the limit, and how many characters were left out."""
    if not _needs_work(value):
        if limit is None or len(value) <= limit:
            return value, 0
        return value[:limit], len(value) - limit
    pieces = _pieces(value if limit is None else value[: limit + 1])
    if limit is None:
        return "".join(pieces), 0
    length = kept = 0
    for piece in pieces:
        if length + len(piece) > limit:
            break
        length += len(piece)
        kept += 1
    return "".join(pieces[:kept]), len(value) - kept


def _needs_work(value: str) -> bool:
    """A quick test that lets nearly all values through unchanged."""
    if value.isascii():
        return not value.isprintable() or "\\u{" in value
    return bool(_UNUSUAL.search(value) or _MARK_RUN.search(value) or _is_mark(value[0]))


def _pieces(value: str) -> list[str]:
    """One piece of output for each character of the value."""
    pieces: list[str] = []
    marks = MARKS  # a mark needs a character to stand on
    for place, char in enumerate(value):
        shown = char
        if _is_mark(char):
            marks += 1
            stands = marks <= MARKS and (char in _PRESENTATION or not _HIDDEN_ONE.match(char))
            shown = char if stands else _escape(char)
        elif _HIDDEN_ONE.match(char) or (char == "\\" and value.startswith("\\u{", place)):
            shown = _escape(char)
        if not _is_mark(char):
            marks = 0 if shown == char else MARKS
        pieces.append(shown)
    return pieces


def _is_mark(char: str) -> bool:
    return unicodedata.category(char) in ("Mn", "Me")


def _escape(char: str) -> str:
    return f"\\u{{{ord(char):x}}}"


def redact(text: str) -> str:
    """The text with nothing between ``//`` and the last ``@`` of a URL: a password may hold
    either sign itself, where somebody forgot to encode it.

    >>> redact("cannot read mysql://me:p@ss/w:rd#1@host/db; check")
    'cannot read mysql://…@host/db; check'
    """
    return _USERINFO.sub("://…@", text) if "://" in text else text


LISTED = 5
"""Names that a note lists before it only counts."""


def listed(names: Iterable[str], more: str = " and {n} more") -> str:
    """A few names and the count of the rest, for a note.

    >>> listed("abcdefg")
    'a, b, c, d, e and 2 more'
    """
    every = list(names)
    shown = ", ".join(visible(name, 80) for name in every[:LISTED])
    return shown if len(every) <= LISTED else shown + more.format(n=len(every) - LISTED)
