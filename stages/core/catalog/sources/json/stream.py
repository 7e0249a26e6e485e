"""JSON read value by value from text that arrives in pieces.

Python's own scanner reads each value; this module only walks the arrays and objects around
them, so a file is never held whole. It is kinder than the standard: a comma too many is
skipped, of repeated keys the last one counts, a file that ends too early gives what stood
before. Each kindness is noted, for a warning.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator

from stages.core.jsontypes import JsonValue

_SPACE = re.compile(r"[ \t\r\n\ufeff]*")
_LOOSE = re.compile(r'("(?:[^"\\]++|\\.)*+(?:"|\\?\Z))|,(?=\s*[}\]])', re.DOTALL)
"""A text, whole or cut off, or a comma before a closing bracket. Nothing is tried twice: the
engine would note every character of a long text to come back to."""
_TORN = re.compile(
    r"(?<!\\)(?:\\\\)*\\u[dD][89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F])"
    r"|(?<!\\u[dD][89abAB][0-9a-fA-F]{2})(?<!\\)\\u[dD][c-fC-F][0-9a-fA-F]{2}"
)
_HALF = re.compile("[\ud800-\udfff]")
_NEAR = 12  # characters of the longest token but a text: -Infinity, \ud83d\ude00
_LITERALS = ("true", "false", "null", "NaN", "Infinity", "-Infinity")
LONGEST = 1 << 28
"""Characters of the longest single value that is waited for."""


class CutOff(Exception):
    """The text ends inside a value."""


class NotJson(Exception):
    """What stands here is not JSON."""


class Stream:
    """A cursor over JSON text.

    Args:
        more: Gives the next piece of text; empty at the end.
        noting: Whether keys that come twice are noted, which takes twice the time.

    Attributes:
        repeated: Whether an object had a key twice.
        mended: Whether commas were too many or missing.
        cut: Whether the text ended inside a value.
        torn: Whether half of a character stood in a text.
        broken: Values of a line file that were left out because they are not JSON.
    """

    def __init__(self, more: Callable[[], str], *, noting: bool = True) -> None:
        self._more = more
        self._text = ""
        self._at = 0
        self._before = 0
        self._decoder = json.JSONDecoder(
            object_pairs_hook=self._pairs if noting else None, strict=False
        )
        self.repeated = self.mended = self.cut = self.torn = False
        self.broken = 0

    @property
    def position(self) -> int:
        """Characters before the cursor."""
        return self._before + self._at

    def _pairs(self, pairs: list[tuple[str, object]]) -> dict[str, object]:
        made = dict(pairs)
        self.repeated = self.repeated or len(made) < len(pairs)
        return made

    def _fill(self) -> bool:
        """Read on, at least as much as is waiting, so that retries stay linear."""
        waiting = self._text[self._at :]
        pieces, wanted = [], max(1, len(waiting))
        if len(waiting) > LONGEST:
            raise NotJson(f"one value is longer than {LONGEST} characters")
        while wanted > 0 and (piece := self._more()):
            pieces.append(piece)
            wanted -= len(piece)
        if not pieces:
            return False
        self._before += self._at
        self._text, self._at = waiting + "".join(pieces), 0
        if self.mended:
            self._tidy()
        return True

    def _tidy(self) -> None:
        """Take out commas before closing brackets, from the cursor on."""
        tidy = _LOOSE.sub(lambda found: found[1] or "", self._text[self._at :])
        self._text = self._text[: self._at] + tidy

    def peek(self) -> str:
        """The next character that is not blank; empty at the end."""
        while True:
            found = _SPACE.match(self._text, self._at)
            self._at = found.end() if found else self._at
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._fill():
                return ""

    def value(self) -> JsonValue:
        """The value at the cursor, which moves behind it.

        Raises:
            CutOff: The text ends inside it.
            NotJson: It is not JSON.
        """
        self.peek()
        while True:
            try:
                value, end = self._decoder.raw_decode(self._text, self._at)
            except json.JSONDecodeError as error:
                self._retry(error)
                continue
            except RecursionError:
                raise NotJson("nested too deeply to be read") from None
            except ValueError as error:  # a whole number of thousands of digits
                raise NotJson(str(error)) from None
            if end < len(self._text) or isinstance(value, (dict, list, str)) or not self._fill():
                self._at = end
                return value

    def _retry(self, error: json.JSONDecodeError) -> None:
        """Make another attempt worth while: read on, else mend, else give up."""
        inside = error.msg.startswith("Unterminated") or error.pos >= len(self._text) - _NEAR
        if inside and self._fill():
            return
        if not self.mended:
            size = len(self._text)
            self._tidy()
            if len(self._text) < size:
                self.mended = True
                return
        if inside and self._unfinished(error):
            self.cut = True
            raise CutOff
        raise NotJson(f"{error.msg} at character {self._before + error.pos + 1}")

    def _unfinished(self, error: json.JSONDecodeError) -> bool:
        """Whether what stands at the end of the text could go on as JSON."""
        rest = self._text[error.pos :]
        word = any(literal.startswith(rest) for literal in _LITERALS)
        return word or error.msg.startswith(("Unterminated", "Invalid \\"))

    def skip_line(self) -> bool:
        """Move behind the next line end; False where there is none."""
        while (end := self._text.find("\n", self._at)) < 0:
            self._at = len(self._text)
            if not self._fill():
                return False
        self._at = end + 1
        return True

    def elements(self) -> Iterator[object]:
        """The elements of the array at the cursor, one at a time.

        Raises:
            CutOff, NotJson: As `value`, after the elements before.
        """
        for _ in self._inside("]"):
            yield self.value()

    def members(self) -> Iterator[str]:
        """The keys of the object at the cursor; the caller reads each value before the next.

        Raises:
            CutOff, NotJson: As `value`.
        """
        seen: set[str] = set()
        for _ in self._inside("}"):
            key = self.value()
            after = self.peek()
            if not isinstance(key, str) or after not in (":", ""):
                raise NotJson(f"no key at character {self.position + 1}")
            if not after:
                self.cut = True
                raise CutOff
            self._at += 1
            self.repeated = self.repeated or key in seen
            seen.add(key)
            yield key

    def _inside(self, close: str) -> Iterator[None]:
        """Stop at each member of the array or object at the cursor, then go behind it."""
        self._at += 1
        comma = True
        while True:
            char = self.peek()
            if not char:
                self.cut = True
                raise CutOff
            if char == close:
                self._at += 1
                return
            if char == ",":
                self.mended = self.mended or comma
                comma = True
                self._at += 1
                if self.peek() == close:
                    self.mended = True
                continue
            comma = False
            yield None

    def partial(self, depth: int = 3) -> JsonValue:
        """The value at the cursor as far as the text goes; `cut` says whether it was all.

        Args:
            depth: Levels of objects that are walked; what lies deeper is there or not.

        Raises:
            NotJson: It is not JSON, and nothing stood before.
        """
        made: JsonValue = [] if self.peek() == "[" else {}
        try:
            if self.peek() == "[":
                made.extend(self.elements())
            elif self.peek() == "{" and depth:
                for key in self.members():
                    inner = self.peek() in ("[", "{")
                    made[key] = self.partial(depth - 1) if inner else self.value()
                    if self.cut:
                        break
            else:
                return self.value()
        except CutOff:
            pass
        except NotJson:
            if not made:
                raise
            self.cut = True
        return made


def is_torn(text: str) -> bool:
    """Whether an escape in JSON text is half of a character (a surrogate by itself)."""
    return "\\u" in text and bool(_TORN.search(text))


def whole(text: str) -> str:
    r"""The text with U+FFFD for halves of characters, which nothing else can hold.

    >>> ascii(whole("cut off \ud83d"))
    "'cut off \\ufffd'"
    """
    return text if text.isascii() else _HALF.sub("\ufffd", text)


def values(stream: Stream) -> Iterator[JsonValue]:
    """Values that stand one after the other, as in JSON lines; a line that is not JSON is
    counted and left out.

    Raises:
        CutOff: The text ends inside one.
    """
    while char := stream.peek():
        if char in ",]}":
            stream.mended = True
            stream.skip_line()
            continue
        try:
            yield stream.value()
        except NotJson:
            stream.broken += 1
            if not stream.skip_line():
                return
