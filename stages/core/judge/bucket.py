"""Lists of terms that are looked through for spellings made of certain letters."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class Bucket:
    """Terms without spaces, and the letters of each.

    Args:
        terms: In the order they came.
    """

    terms: list[str] = field(default_factory=list)
    _letters: list[frozenset[str]] = field(default_factory=list)

    def made_of(self, letters: str, inside: str = "") -> list[str]:
        """Terms that consist of these letters only, in order; those that have ``inside`` after
        their first letter where it is given.

        >>> Bucket(["qty", "vehno", "quota"]).made_of("quantity")
        ['qty']
        """
        self._letters += map(frozenset, self.terms[len(self._letters) :])
        covers = frozenset(letters).issuperset
        return [
            term
            for term, own in zip(self.terms, self._letters, strict=True)
            if covers(own) and term.find(inside, 1) > 0
        ]
