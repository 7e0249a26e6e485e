"""Numbers with their nouns."""

from __future__ import annotations


def many(number: int, one: str) -> str:
    """The number with its noun, in the plural where it is not 1.

    >>> many(1, "round"), many(0, "table"), many(1204, "row")
    ('1 round', '0 tables', '1204 rows')
    """
    return f"{number} {one if number == 1 else one + 's'}"


class Count(int):
    """A number that a format string gives a noun to.

    >>> "kept {0} of {1:table}".format(Count(1), Count(1)), f"{Count(3):>3}"
    ('kept 1 of 1 table', '  3')
    """

    def __format__(self, spec: str) -> str:
        return many(int(self), spec) if spec[:1].isalpha() else format(int(self), spec)
