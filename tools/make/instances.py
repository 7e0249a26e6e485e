"""Make the judge's table of names by what they are names of.

    python tools/make/instances.py --wordnet DIR --faker DIR

Sources: WordNet 3.0 (Princeton licence; Debian's ``wordnet-base``, DIR holds ``data.noun``): names
of countries, states, cities, waters, languages and the like; Faker (MIT, DIR is the unpacked
wheel): given names. Writes stages/core/judge/data/instances.txt.gz, a kind a line:
``kind<TAB>name|name …``, names in lower case. A name of two kinds stands under both.
"""

from __future__ import annotations

import argparse
import ast
from collections.abc import Iterable, Iterator
from pathlib import Path

from tools.make.lexicon import DATA, write

#: Kind → the synsets of WordNet, by first word and gloss's start, under which its names stand.
ROOTS = {
    "country": (
        "country",
        "european_country",
        "african_country",
        "asian_country",
        "south_american_country",
    ),
    "state": ("american_state", "canadian_province"),
    "continent": ("continent",),
    "language": ("natural_language",),
    "city": ("city", "national_capital", "state_capital", "port", "provincial_capital"),
    "river": ("river",),
    "lake": ("lake",),
    "sea": ("sea", "ocean", "gulf"),
    "island": ("island", "archipelago"),
    "mountain": ("mountain_peak", "mountain", "volcano"),
    "desert": ("desert",),
    "currency": ("monetary_unit",),
    "religion": ("religion",),
    "sport": ("sport",),
    "color": ("chromatic_color",),
    "month": ("gregorian_calendar_month",),
    "weekday": ("day_of_the_week",),
    "people": ("inhabitant",),
}
#: Kinds whose names are kinds themselves (hyponyms) and not only single things (instances).
KINDS_OF = frozenset(
    ["language", "currency", "religion", "sport", "color", "month", "weekday", "people"]
)
LOCALES = ("en_US", "en_GB", "es_ES", "fr_FR", "de_DE", "it_IT", "pt_BR", "nl_NL", "sv_SE", "pl_PL")
SHORTEST, MOST_WORDS = 3, 3


def main() -> None:
    """Join both sources and write them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--wordnet", type=Path, required=True)
    parser.add_argument("--faker", type=Path, required=True)
    args = parser.parse_args()
    synsets = read(args.wordnet / "data.noun")
    lines = [
        line(kind, (name for root in roots for name in below(synsets, root, kind in KINDS_OF)))
        for kind, roots in ROOTS.items()
    ]
    lines.append(line("given", given(args.faker)))
    write(DATA / "instances.txt.gz", lines)


def line(kind: str, names: Iterable[str]) -> str:
    """One kind's line."""
    return f"{kind}\t{'|'.join(sorted({name for name in names if fits(name)}))}"


def fits(name: str) -> bool:
    """Whether a name is worth a place: not too short, not too long, plain letters."""
    plain = name.replace(" ", "").replace("-", "").replace(".", "").replace("'", "")
    return (
        len(name) >= SHORTEST
        and len(name.split()) <= MOST_WORDS
        and plain.isalpha()
        and name.isascii()
    )


def read(path: Path) -> dict[str, tuple[list[str], list[str], list[str]]]:
    """Synset → its words, the synsets it is a kind of, and those it is an instance of."""
    made = {}
    for text in path.read_text().splitlines():
        if text[:1].isdigit():
            fields = text.split(" ")
            count = int(fields[3], 16)
            words = [fields[4 + 2 * at].lower() for at in range(count)]
            tail = fields[4 + 2 * count :]
            pointers = [tail[at : at + 4] for at in range(1, 1 + 4 * int(tail[0]), 4)]
            above = {mark: [to for m, to, *_ in pointers if m == mark] for mark in ("@", "@i")}
            made[fields[0]] = (words, above["@"], above["@i"])
    return made


def below(
    synsets: dict[str, tuple[list[str], list[str], list[str]]], root: str, kinds_too: bool
) -> Iterator[str]:
    """Names of all that stands below the synsets which begin with a word."""
    inside = {at for at, (words, _, _) in synsets.items() if words[0] == root}
    grown = True
    while grown:
        more = {at for at, (_, above, _) in synsets.items() if inside.intersection(above)} - inside
        inside |= more
        grown = bool(more)
    for at, (words, _, single) in synsets.items():
        if inside.intersection(single) or (kinds_too and at in inside):
            yield from (word.replace("_", " ") for word in words)


def given(folder: Path) -> Iterator[str]:
    """Given names of Faker's providers of persons."""
    for locale in LOCALES:
        path = folder / "faker" / "providers" / "person" / locale / "__init__.py"
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "").startswith(
                "first_names"
            ):
                for part in ast.walk(node.value):
                    if isinstance(part, ast.Constant) and isinstance(part.value, str):
                        yield part.value.lower()


if __name__ == "__main__":
    main()
