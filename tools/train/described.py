"""Catalogs whose words stand in descriptions, made from benchmarks whose words stand in names.

Databases of one fold are joined; names are turned cryptic in the ways that SNAILS names
(Luoma and Kumar, SNAILS: Schema Naming Assessments for Improved LLM-Based SQL Inference, 2025):
without vowels, cut short, initials, codes; their natural words go into descriptions, in English
or, by the lexicon, in Chinese. Every table gets the same few columns of housekeeping; some
descriptions are short, missing or those of another table; some questions begin politely.
"""

from __future__ import annotations

import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

from stages.core.judge.language import chinese, tokenize
from stages.core.records import Table
from tools.bench.data import Case, Data
from tools.train.data import FOLDS, Rows, dev_databases, gold_columns, pooled, renamed, rows_of

#: Databases of one catalog, and questions asked of it.
SIZES, ASKED = (1, 2, 5, 10, 16), 40
#: Shares: tables without, or with another's, description; columns without; descriptions cut short.
UNTOLD_TABLE, WRONG_TABLE, UNTOLD_COLUMN, SHORT = 0.1, 0.05, 0.15, 0.2
OPENINGS = {
    "en": (
        "Good morning, could you please tell me: ",
        "I am preparing a report for our management and need your help. ",
        "Please look this up in our data and answer precisely: ",
    ),
    "zh": (
        "请问",
        "你好，麻烦帮我查询一下，",
        "我正在准备公司的季度报告，请根据数据库回答：",
        "今天是2021年12月24日，",
    ),
}
#: Letters of names that no data knows, what such names end with, and how they stand.
NAMED = {
    "en": (
        ("bren", "low", "tark", "vim", "osta", "quil"),
        (" Holdings Inc.", " Group", ""),
        "For {}, ",
    ),
    "zh": (
        tuple("普洛瓷途牛弘曜淀兴晟禾沪"),
        ("股份有限公司", "药业", "证券", "信托", "银行", ""),
        "{}，",
    ),
}
DATES = {
    "en": ("", " on 2020-12-31", " in 2021"),
    "zh": ("", "2020年12月31日", "2021-11-25", "2019年"),
}
#: Columns that every table has: name, description in English and in Chinese.
HOUSEKEEPING = (
    ("ID", "record ID", "ID"),
    ("CompanyCode", "company code, see the master table of companies", "公司代码，与证券主表关联"),
    ("InnerCode", "internal code of the security", "证券内部编码"),
    ("InfoPublDate", "date on which the information was issued", "信息发布日期"),
    ("EndDate", "end date of the period", "截止日期"),
    ("UpdateTime", "time of the last update", "更新时间"),
    ("XGRQ", "date of change", "修改日期"),
    ("JSID", "serial number of the row", "流水号"),
    ("Remark", "remarks and notes", "备注说明"),
)


@dataclass
class Style:
    """How one catalog is written.

    Args:
        lang: Language of its descriptions.
        name: How names are made: ``vowels``, ``short``, ``initials``, ``codes``, ``natural``.
        rng: What everything is drawn from.
        taken: Names that are given already.
    """

    lang: str
    name: str
    rng: random.Random
    taken: set[str] = field(default_factory=set)
    extra: Sequence[tuple[str, str, str]] = ()
    examples: bool = True


def cryptic(name: str, style: Style, code: str) -> str:
    """A name that says little, new in this catalog."""
    words = [word for word in tokenize.split(name) if word.isascii()] or ["x"]
    made = {
        "vowels": "_".join(word[0] + re.sub("[aeiou]", "", word[1:])[:4] for word in words),
        "short": "".join(word[:3].capitalize() for word in words),
        "initials": "".join(word[0] for word in words).upper(),
        "codes": f"{code}{len(style.taken):04d}",
        "natural": name,
    }[style.name]
    number, found = 1, made
    while found.lower() in style.taken:
        number += 1
        found = f"{made}{number}"
    style.taken.add(found.lower())
    return found


@cache
def _chinese_of() -> dict[str, list[str]]:
    """English word to Chinese ones, the likeliest first: those that stand high among the
    translations of a short word."""
    found: dict[str, list[tuple[int, int, str]]] = defaultdict(list)
    for word, english in chinese.lexicon().items():
        for place, each in enumerate(english.split(",")):
            found[tokenize.stem(each)].append((place, abs(len(word) - 2), word))
    return {each: [word for _, _, word in sorted(held)[:12]] for each, held in found.items()}


@cache
def _heard(folder: Path) -> Counter[str]:
    """How often Chinese words stand in CSpider's questions."""
    cases = Data(folder).cases("cspider-dev")
    return Counter(
        word
        for case in cases
        for run in re.findall(r"[\u3400-\u9fff]+", case.task["question"])
        for word in chinese.cut(run)
    )


def in_chinese(text: str, folder: Path, rng: random.Random) -> str:
    """A natural name word by word in Chinese; words that the lexicon lacks stay."""
    made = []
    for word in tokenize.split(text):
        known = _chinese_of().get(tokenize.stem(word), [])
        ranked = sorted(known, key=lambda each: -min(_heard(folder)[each], 3))
        made.append(rng.choice(ranked[:2] if rng.random() < 0.3 else ranked[:1]) if known else word)
    return "".join(made)


def described(tables: Sequence[Table], style: Style, folder: Path) -> list[dict[str, Any]]:
    """The tables with their words moved from names to descriptions, and the new names by the
    old ones: ``{"table": …, "old": …, "columns": {old: new}}``."""
    made = [_described(table, style, folder) for table in tables]
    new = {one["old"]: one for one in made}
    for table, one in zip(tables, made, strict=True):
        one["table"]["foreign_keys"] = [
            {
                "columns": [one["columns"].get(c, c) for c in key["columns"]],
                "ref_table": new[key["ref_table"]]["table"]["name"],
                "ref_columns": [
                    new[key["ref_table"]]["columns"].get(c, c) for c in key["ref_columns"]
                ],
            }
            for key in table.get("foreign_keys", ())
            if key["ref_table"] in new
        ]
    for one in made:
        if style.rng.random() < WRONG_TABLE:
            other = style.rng.choice(made)["table"].get("description")
            one["table"] |= {"description": other} if other else {}
    return made


def _described(table: Table, style: Style, folder: Path) -> dict[str, Any]:
    """One table; its keys to others are set later."""
    rng, inner = style.rng, replace(style, taken=set())
    new, columns, told = {}, [], []
    for column in table["columns"]:
        text = _said(column.get("nl_name") or column["name"], style, folder)
        new[column["name"]] = cryptic(column["name"], inner, "F")
        made: dict[str, Any] = {"name": new[column["name"]], "type": column["type"]}
        if rng.random() >= UNTOLD_COLUMN:
            made["description"] = text
            told.append(text)
        if style.examples and column.get("examples"):
            made["examples"] = column["examples"]
        columns.append(made)
    for name, en, zh in style.extra:
        columns.append(
            {"name": name, "type": "text", "description": en if style.lang == "en" else zh}
        )
    record: dict[str, Any] = {
        **table,
        "name": cryptic(table["name"], style, "T"),
        "columns": columns,
        "primary_key": [new[name] for name in table.get("primary_key", ()) if name in new],
    }
    record.pop("nl_name", None)
    record.pop("description", None)
    if rng.random() >= UNTOLD_TABLE:
        text = _said(table.get("nl_name") or table["name"], style, folder)
        record["description"] = text + _listed(told, style)
    return {"table": record, "old": table["name"], "columns": new}


def _said(name: str, style: Style, folder: Path) -> str:
    """The natural words of a name, some cut short."""
    words = tokenize.split(name)
    if len(words) > 1 and style.rng.random() < SHORT:
        words = words[:-1] if style.rng.random() < 0.5 else words[1:]
    text = " ".join(words)
    return text if style.lang == "en" else in_chinese(text, folder, style.rng)


def _listed(told: Sequence[str], style: Style) -> str:
    """What a table's description says of its columns, in half of the cases."""
    if len(told) < 2 or style.rng.random() < 0.5:
        return ""
    some = style.rng.sample(list(told), min(3, len(told)))
    if style.lang == "zh":
        return f"；收录{'、'.join(some)}等信息"
    return f"; holds {', '.join(some)} and others"


def catalogs(data: Data, each: int) -> list[Rows]:
    """Questions on described catalogs, ``each`` catalogs a fold and language."""
    jobs = [
        (data.folder, fold, lang, at)
        for fold in range(FOLDS)
        for lang in OPENINGS
        for at in range(each)
    ]
    with ProcessPoolExecutor() as pool:
        return [row for rows in pool.map(_rows, jobs) for row in rows]


@cache
def _pool(folder: Path) -> tuple[Data, dict[int, dict[str, dict[str, list[Case]]]]]:
    """The data, and its questions by fold, once a process."""
    data = Data(folder)
    return data, pooled(data, dev_databases(data))


def _rows(job: tuple[Path, int, str, int]) -> list[Rows]:
    """Rows of one catalog."""
    folder, fold, lang, at = job
    rng = random.Random(f"{fold} {lang} {at}")
    tables, cases = catalog(folder, fold, lang, rng)
    asked = rng.sample(cases, min(len(cases), ASKED))
    return [rows_of(case, tables, fold, f"described-{lang}") for case in asked]


def catalog(
    folder: Path, fold: int, lang: str, rng: random.Random
) -> tuple[list[Table], list[Case]]:
    """One described catalog of databases of a fold, and questions on it."""
    data, pool = _pool(folder)
    found = {
        (schemas, db): [case for case in cases if (case.set == "cspider-dev") == (lang == "zh")]
        for schemas in ("spider", "bird-train")
        for db, cases in pool[fold][schemas].items()
    }
    able = sorted(key for key, cases in found.items() if cases)
    n = rng.choice(SIZES)
    chosen = rng.sample(able, min(len(able), -(-n // 2)))
    rest = sorted(key for key in found if key not in chosen)
    chosen += rng.sample(rest, min(len(rest), n - len(chosen)))
    style = Style(
        lang,
        rng.choice(("vowels", "short", "initials", "codes", "natural", "natural")),
        rng,
        extra=rng.sample(HOUSEKEEPING, rng.randint(0, 6)),
        examples=rng.random() < 0.6,
    )
    return _together(data, chosen, found, style)


def _together(
    data: Data,
    chosen: Sequence[tuple[str, str]],
    found: dict[tuple[str, str], list[Case]],
    style: Style,
) -> tuple[list[Table], list[Case]]:
    """The databases as one catalog, some with the names of databases before those of tables."""
    shown, tables, cases = style.rng.random() < 0.5, [], []
    for place, (schemas, db) in enumerate(chosen):
        records = data.tables(f"schemas/{schemas}", db)
        prefix = f"DB{place}." if shown and len(chosen) > 1 else ""
        made = described(records, style, data.folder)
        tables += [renamed(one["table"], prefix) for one in made]
        new = {one["old"].lower(): one for one in made}
        cases += list(_asked(found[schemas, db], new, prefix, style))
    return tables, cases


def named(style: Style) -> str:
    """A name and a date before a question that say nothing of the tables needed."""
    parts, ends, form = NAMED[style.lang]
    name = "".join(style.rng.sample(parts, 2)).capitalize() + style.rng.choice(ends)
    return form.format(name + style.rng.choice(DATES[style.lang]))


def _asked(
    cases: Sequence[Case], new: dict[str, dict[str, Any]], prefix: str, style: Style
) -> Iterator[Case]:
    """The questions with what they need under its new names."""
    for case in cases if len(cases) < ASKED else style.rng.sample(cases, ASKED):
        if not all(name.lower() in new for name in case.gold):
            continue
        opening = style.rng.choice(OPENINGS[style.lang]) if style.rng.random() < 0.4 else ""
        opening += named(style) if style.rng.random() < 0.5 else ""
        task: Any = {**case.task, "question": opening + case.task["question"]}
        if style.name != "natural":
            task.pop("evidence", None)
        columns = frozenset(
            (new[t.lower()]["table"]["name"], new[t.lower()]["columns"].get(c, c))
            for t, c in case.gold_columns
            if t.lower() in new
        )
        gold = frozenset(new[name.lower()]["table"]["name"] for name in case.gold)
        moved = replace(case, task=task, gold=gold, gold_columns=columns)
        kept = frozenset(prefix + name for name in gold)
        yield replace(moved, gold=kept, gold_columns=gold_columns(prefix, moved))
