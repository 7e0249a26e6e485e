"""Reading the user's rules, strictly: what is wrong is an error with its line and column.

A rule file is YAML::

    - name: dividends               # optional; shown as the evidence's note
      when:
        words: [dividend, 分红]     # any of these words or phrases stands in the question
        regex: "per (share|unit)"   # or this is found in it, without regard to case
      add:
        tables: [dividend_history]
        columns:
          dividend_history: [ex_date, amount]
      forbid:
        tables: [dividend_draft]

Every key is optional except ``when`` with one of ``words`` and ``regex``, and at least one
of ``add`` and ``forbid``. Words match whole words without regard to case; a word with
Chinese characters matches anywhere. Adding a column adds its table. What one rule adds no
other rule forbids, since unsure keeps. Nothing here is executed or resolved: YAML tags
other than plain text are errors, and so are unknown or repeated keys; each with its line
and column.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from stages.core.errors import DataError, os_words
from stages.core.judge.rules import Effect, Pair, Rule, Rules
from stages.core.text import composed

if TYPE_CHECKING:
    import yaml

LARGEST = 1 << 20
"""Bytes of a rule file that are read at most; rules are written by hand."""

_HAN = re.compile(r"[\u3400-\u9fff]")
_TEXT = "tag:yaml.org,2002:str"


def read_rules(path: Path) -> Rules:
    """The rules of a file.

    Raises:
        DataError: The file cannot be read, or breaks the format; the place is
            ``file:line:column``.
    """
    try:
        with path.open("rb") as stream:
            raw = stream.read(LARGEST + 1)
    except OSError as error:
        raise DataError(os_words(error), place=str(path)) from None
    if len(raw) > LARGEST:
        raise DataError(f"larger than {LARGEST} bytes", place=str(path), hint="rules are short")
    return parse_rules(raw, str(path))


def parse_rules(raw: bytes, place: str) -> Rules:
    """The rules in the bytes of a file; see `read_rules`."""
    import yaml

    try:
        text = raw.decode("utf-8-sig")
        node = yaml.compose(text, Loader=yaml.SafeLoader)
    except UnicodeDecodeError as error:
        before = raw[: error.start].decode("utf-8-sig")
        raise DataError("not UTF-8", place=f"{place}:{_end(before)}") from None
    except RecursionError:
        raise DataError("nested too deeply", place=place) from None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        at = f"{place}:{mark.line + 1}:{mark.column + 1}" if mark else place
        raise DataError(f"not YAML: {error.problem or error.context}", place=at) from None
    except yaml.reader.ReaderError as error:
        what = f"not YAML: character U+{error.character:04X} may not stand here"
        raise DataError(what, place=f"{place}:{_end(text[: error.position])}") from None
    digest = "sha256:" + hashlib.sha256(raw).hexdigest()
    if node is None:
        return Rules((), digest)
    reader = _Reader(place)
    return Rules(tuple(reader.rule(item) for item in reader.items(node, "a list of rules")), digest)


def _end(before: str) -> str:
    """Line and column of what follows this text."""
    return f"{before.count(chr(10)) + 1}:{len(before) - before.rfind(chr(10))}"


class _Reader:
    """Reads composed YAML nodes strictly; every complaint names line and column."""

    def __init__(self, place: str) -> None:
        self.place = place

    def fail(self, node: yaml.Node, what: str, hint: str = "") -> DataError:
        mark = node.start_mark
        return DataError(what, place=f"{self.place}:{mark.line + 1}:{mark.column + 1}", hint=hint)

    def items(self, node: yaml.Node, what: str) -> list[yaml.Node]:
        import yaml

        if not isinstance(node, yaml.SequenceNode):
            raise self.fail(node, f"here stands no list; wanted {what}")
        return list(node.value)

    def mapping(
        self, node: yaml.Node, what: str, known: Sequence[str] | None
    ) -> dict[str, yaml.Node]:
        import yaml

        if not isinstance(node, yaml.MappingNode):
            raise self.fail(node, f"here stand no keys; wanted {what}")
        found: dict[str, yaml.Node] = {}
        for key_node, value in node.value:
            key = self.text(key_node)
            if known is not None and key not in known:
                raise self.fail(key_node, f"unknown key {key!r}", f"known here: {', '.join(known)}")
            if key in found:
                raise self.fail(key_node, f"key {key!r} stands twice")
            found[key] = value
        return found

    def text(self, node: yaml.Node) -> str:
        import yaml

        if not isinstance(node, yaml.ScalarNode) or node.tag != _TEXT:
            raise self.fail(node, "here stands no text", "put a number or a yes/no in quotes")
        value = str(node.value).strip()
        if not value:
            raise self.fail(node, "here stands an empty text")
        return value

    def texts(self, node: yaml.Node, what: str) -> tuple[str, ...]:
        found = tuple(self.text(item) for item in self.items(node, what))
        if not found:
            raise self.fail(node, f"an empty list; wanted {what}")
        return found

    def rule(self, node: yaml.Node) -> Rule:
        keys = self.mapping(node, "a rule", ("name", "when", "add", "forbid"))
        if "when" not in keys:
            raise self.fail(node, "a rule without 'when'", "say for which questions it holds")
        if "add" not in keys and "forbid" not in keys:
            raise self.fail(node, "a rule without 'add' and 'forbid'", "say what it does")
        name = self.text(keys["name"]) if "name" in keys else ""
        add, forbid = (
            self.effect(keys[key]) if key in keys else Effect() for key in ("add", "forbid")
        )
        return Rule(name, self.when(keys["when"]), add, forbid)

    def when(self, node: yaml.Node) -> tuple[re.Pattern[str], ...]:
        keys = self.mapping(node, "words or regex", ("words", "regex"))
        patterns = []
        if "words" in keys:
            patterns += [_word(word) for word in self.texts(keys["words"], "a list of words")]
        if "regex" in keys:
            try:
                patterns.append(re.compile(composed(self.text(keys["regex"])), re.IGNORECASE))
            except re.error as error:
                raise self.fail(keys["regex"], f"no regular expression: {error}") from None
        if not patterns:
            raise self.fail(node, "'when' says nothing", "give it words or regex")
        return tuple(patterns)

    def effect(self, node: yaml.Node) -> Effect:
        keys = self.mapping(node, "tables or columns", ("tables", "columns"))
        if not keys:
            raise self.fail(node, "names no tables and no columns")
        tables = self.texts(keys["tables"], "a list of tables") if "tables" in keys else ()
        columns: list[Pair] = []
        if "columns" in keys:
            by_table = self.mapping(keys["columns"], "a list of columns for each table", None)
            for table, names in by_table.items():
                columns += [(table, name) for name in self.texts(names, "a list of columns")]
        return Effect(tables, tuple(columns))


def _word(word: str) -> re.Pattern[str]:
    """A pattern for a word or phrase; Chinese is written without spaces between words."""
    body = r"\s+".join(re.escape(part) for part in composed(word).split())
    return re.compile(body if _HAN.search(word) else rf"(?<!\w){body}(?!\w)", re.IGNORECASE)
