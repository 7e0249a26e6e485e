"""Lists of terms that are looked through for spellings made of certain letters."""

from __future__ import annotations

import re
from dataclasses import dataclass, field


@dataclass
class Bucket:
    """Terms without spaces, and their text for one regular expression to run over.

    Args:
        terms: In the order they came.
    """

    terms: list[str] = field(default_factory=list)
    _text: str = ""

    def made_of(self, letters: str, inside: str = "") -> list[str]:
        """Terms that consist of these letters only, in order; those that have ``inside`` after
        their first letter where it is given.

        >>> Bucket(["qty", "vehno", "quota"]).made_of("quantity")
        ['qty']
        """
        if self.terms and not self._text:
            self._text = "\n".join(self.terms)
        some = f"[{re.escape(''.join(sorted(set(letters))))}]"
        middle = f"{some}+?{re.escape(inside)}{some}*" if inside else f"{some}+"
        return re.findall(f"^{middle}$", self._text, re.MULTILINE)
