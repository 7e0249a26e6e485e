"""Linking metrics of one question and of many, with confidence intervals.

What scoring needs to know of a catalog: whose names, and what its schema costs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from stages.core.evaluate.gold import Gold
from stages.core.names import Names
from stages.core.readers import KeptColumns
from stages.core.records import Column, Table

TOKEN_RULE = (
    "schema tokens: per table its name and description, per column its name, type, "
    "description and examples, o200k_base; kept tables count whole"
)


class CatalogFacts:
    """One catalog as scoring sees it; built once and used for all of its questions."""

    def __init__(self, tables: Sequence[Table], database: str) -> None:
        self.names = Names(tables)
        self.database = database
        self.columns = {
            table["name"]: [column["name"] for column in table["columns"]] for table in tables
        }
        self._heads: dict[str, int] = {}
        self._cells: dict[str, dict[str, int]] = {}
        for table in tables:
            self._count(table)
        self.tokens_all = sum(self._whole(name) for name in self._heads)
        self.n_columns = sum(len(names) for names in self.columns.values())

    def _count(self, table: Table) -> None:
        from stages.core.tokens import count

        self._heads[table["name"]] = count(table_text(table))
        cells = self._cells.setdefault(table["name"], {})
        for column in table["columns"]:
            cells[column["name"]] = count(column_text(column))

    def _whole(self, table: str) -> int:
        return self._heads[table] + sum(self._cells[table].values())

    def tokens(self, tables: Iterable[str]) -> int:
        """Tokens of these tables, whole."""
        return sum(self._whole(name) for name in tables if name in self._heads)

    def tokens_narrow(self, kept: KeptColumns) -> int:
        """Tokens of the kept tables with their kept columns alone."""
        if kept.columns is None:
            return self.tokens(kept.tables)
        return sum(
            self._heads[name] + self._columns_cost(name, kept.columns)
            for name in kept.tables
            if name in self._heads
        )

    def _columns_cost(self, table: str, columns: Mapping[str, frozenset[str]]) -> int:
        return sum(self._cells[table].get(name, 0) for name in columns.get(table, ()))

    def columns_kept(self, kept: KeptColumns) -> int:
        """How many columns of the kept tables stay."""
        if kept.columns is None:
            return sum(len(self.columns.get(name, ())) for name in kept.tables)
        return sum(len(kept.columns.get(name, ())) for name in kept.tables)

    def holds(self, kept: KeptColumns, table: str, column: str) -> bool:
        """Whether a column stays; both names as in the catalog."""
        if table not in kept.tables:
            return False
        return kept.columns is None or column in kept.columns.get(table, frozenset())


def table_text(table: Table) -> str:
    """The line that stands for a table, without its columns."""
    parts = (table["name"], table.get("nl_name"), table.get("description"), table.get("comment"))
    return " ".join(part for part in parts if part) + "\n"


def column_text(column: Column) -> str:
    """The line that stands for a column."""
    parts = (column["name"], column["type"], column.get("description"), column.get("comment"))
    return " ".join([*(part for part in parts if part), *column.get("examples", [])[:3]]) + "\n"


# Confidence intervals for a mean over questions that come in clusters, one a database.

ROUNDS = 2000
SEED = 20260816


def interval(
    values: Mapping[str, Sequence[float]], *, level: float = 0.95, rounds: int = ROUNDS
) -> tuple[float, float] | None:
    """The interval for the mean of all values when whole clusters are drawn anew.

    Args:
        values: By cluster, the value of each of its questions.
        level: Share of drawn means inside the interval.
        rounds: Number of draws; the seed is fixed, so equal input gives equal output.

    Returns:
        Lower and upper end; None with fewer than two clusters, where databases tell
        nothing about each other.

    Example:
        >>> interval({"a": [1.0, 1.0], "b": [1.0]})
        (1.0, 1.0)
    """
    clusters = [values[name] for name in sorted(values) if values[name]]
    if len(clusters) < 2:
        return None
    import numpy as np

    sums = np.array([sum(cluster) for cluster in clusters], dtype=float)
    sizes = np.array([len(cluster) for cluster in clusters], dtype=float)
    draws = np.random.default_rng(SEED).multinomial(
        len(clusters), np.full(len(clusters), 1 / len(clusters)), size=rounds
    )
    means = (draws @ sums) / (draws @ sizes)
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


# Linking metrics: of one question, and of many.

KS = (1, 3, 5, 10, 20, 50)
NO_COLUMNS = "questions, of columns alone, whose gold columns are not all in the catalog"
SIZES = (5, 10, 20, 50, 100, 300, 1000)


@dataclass(frozen=True)
class Measure:
    """One question. Shares are between 0 and 1; None where the gold cannot say.

    Attributes:
        lost: Gold tables that were not kept.
        evidence: What spoke for each lost table, in words.
        worst_rank: Rank of the gold table ranked last, 1 the best; None where the section
            ranks no tables; 0 where one of them is not ranked at all.
        column_strict: Whether every gold column stays; None without gold columns.
        unknown_columns: Gold columns that the catalog has not; no column is scored then.
    """

    id: str
    set: str
    database: str
    question: str
    n_tables: int
    table_strict: float
    table_precision: float
    table_recall: float
    column_strict: float | None
    column_recall: float | None
    tables_kept: int
    columns_kept: int
    columns_share: float
    tokens_share: float
    tokens_narrow_share: float
    worst_rank: int | None
    lost: tuple[str, ...] = ()
    lost_columns: tuple[str, ...] = ()
    evidence: tuple[str, ...] = ()
    unknown_columns: tuple[str, ...] = ()


def measure(
    kept: KeptColumns, gold: Gold, facts: CatalogFacts, question: str = ""
) -> Measure | None:
    """Score what a section kept for one question.

    Returns:
        None where a gold table is not in the catalog: no section could have kept it.
    """
    found = [facts.names.table(name) for name in gold.tables]
    needed = list(dict.fromkeys(name for name in found if name is not None))
    if None in found or not needed:
        return None
    hits = [name for name in needed if name in kept.tables]
    lost = tuple(name for name in needed if name not in kept.tables)
    columns, unknown = _columns(gold, facts)
    gone = None if columns is None else [pair for pair in columns if not facts.holds(kept, *pair)]
    return Measure(
        gold.id,
        gold.set,
        facts.database,
        question,
        len(facts.columns),
        table_strict=float(not lost),
        table_precision=len(hits) / len(kept.tables) if kept.tables else 0.0,
        table_recall=len(hits) / len(needed),
        column_strict=None if gone is None else float(not gone),
        column_recall=None if gone is None or not columns else 1 - len(gone) / len(columns),
        tables_kept=len(kept.tables),
        columns_kept=facts.columns_kept(kept),
        columns_share=_share(facts.columns_kept(kept), facts.n_columns),
        tokens_share=_share(facts.tokens(kept.tables), facts.tokens_all),
        tokens_narrow_share=_share(facts.tokens_narrow(kept), facts.tokens_all),
        worst_rank=_worst_rank(kept.rank, needed),
        lost=lost,
        lost_columns=tuple(f"{table}.{column}" for table, column in gone or ()),
        evidence=tuple(
            kept.evidence.get(name, "nothing in the section speaks for it") for name in lost
        ),
        unknown_columns=unknown,
    )


def _columns(
    gold: Gold, facts: CatalogFacts
) -> tuple[list[tuple[str, str]] | None, tuple[str, ...]]:
    """Gold columns by their names in the catalog, and those that are not there.

    None where one is not there, or where the gold lists none (a query of ``COUNT(*)`` and
    ``SELECT *`` alone needs none).
    """
    pairs, unknown = [], []
    for table_name, column_name in gold.columns or ():
        table = facts.names.table(table_name)
        column = facts.names.column(table, column_name) if table else None
        if table is None or column is None:
            unknown.append(f"{table_name}.{column_name}")
        else:
            pairs.append((table, column))
    return (None if unknown or not pairs else list(dict.fromkeys(pairs))), tuple(unknown)


def _worst_rank(rank: Sequence[str] | None, needed: Sequence[str]) -> int | None:
    if rank is None:
        return None
    places = {name: place for place, name in reversed(list(enumerate(rank, 1)))}
    return 0 if any(name not in places for name in needed) else max(places[name] for name in needed)


def _share(part: float, whole: float) -> float:
    return part / whole if whole else 0.0


@dataclass
class MeasureTally:
    """All measures of a run, and how many tasks gave none, by reason.

    Attributes:
        unasked: Questions of the gold that no task asks.
        stale: Measured sections that were made from other inputs or tables.
    """

    measures: list[Measure] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)
    unasked: int = 0
    stale: int = 0

    def add(self, found: Measure | None, reason: str) -> None:
        """Keep a measure, or count why there is none."""
        if found is None:
            self.left_out[reason] += 1
        else:
            self.measures.append(found)
            if found.unknown_columns:
                self.left_out[NO_COLUMNS] += 1


@dataclass(frozen=True)
class Value:
    """A mean over ``n`` questions and its 95 % interval, where there is one."""

    mean: float
    low: float | None
    high: float | None
    n: int


@dataclass(frozen=True)
class Summary:
    """One group of questions: its name, its size, and its metrics by name."""

    group: str
    questions: int
    databases: int
    values: dict[str, Value]


Metric = Callable[[Measure], "float | None"]
METRICS: dict[str, Metric] = {
    "strict table recall": lambda m: m.table_strict,
    "table recall": lambda m: m.table_recall,
    "table precision": lambda m: m.table_precision,
    "strict column recall": lambda m: m.column_strict,
    "column recall": lambda m: m.column_recall,
    "tables kept": lambda m: m.tables_kept,
    "columns kept": lambda m: m.columns_kept,
    "columns kept, share": lambda m: m.columns_share,
    "schema tokens kept, share": lambda m: m.tokens_share,
    "schema tokens of kept columns, share": lambda m: m.tokens_narrow_share,
}
COUNTS = frozenset({"tables kept", "columns kept"})


def _at(k: int) -> Metric:
    return lambda m: None if m.worst_rank is None else float(0 < m.worst_rank <= k)


def summarise(group: str, measures: Sequence[Measure]) -> Summary:
    """Every metric of one group; a metric that no question of it has is left out."""
    metrics = {**METRICS, **{f"strict table recall at {k}": _at(k) for k in KS}}
    values = {}
    for name, metric in metrics.items():
        value = _value(measures, metric)
        if value is not None:
            values[name] = value
    return Summary(group, len(measures), len({m.database for m in measures}), values)


def _value(measures: Iterable[Measure], metric: Metric) -> Value | None:
    clusters: dict[str, list[float]] = {}
    for m in measures:
        value = metric(m)
        if value is not None:
            clusters.setdefault(m.database, []).append(value)
    n = sum(len(cluster) for cluster in clusters.values())
    if not n:
        return None
    mean = sum(sum(clusters[name]) for name in sorted(clusters)) / n
    low, high = interval(clusters) or (None, None)
    return Value(mean, low, high, n)


def groups(measures: Sequence[Measure]) -> list[Summary]:
    """All questions, then by set where there are several, then by size of catalog."""
    found = [summarise("all", measures)]
    sets = sorted({m.set for m in measures})
    if len(sets) > 1:
        found += [summarise(f"set {name}", [m for m in measures if m.set == name]) for name in sets]
    sizes = sorted({_bucket(m.n_tables) for m in measures})
    if len(sizes) > 1:
        found += [
            summarise(
                f"{low}-{high} tables" if high else f"{low}+ tables",
                [m for m in measures if _bucket(m.n_tables) == (low, high)],
            )
            for low, high in sizes
        ]
    return found


def _bucket(n_tables: int) -> tuple[int, int]:
    """The size class, as its first and last number of tables; 0 as last is open."""
    low = 1
    for high in SIZES:
        if n_tables <= high:
            return low, high
        low = high + 1
    return low, 0


def worst(measures: Sequence[Measure], n: int) -> list[Measure]:
    """The ``n`` questions that lost most: by tables lost, then columns lost, then id."""
    lost = [m for m in measures if m.lost or m.lost_columns]
    return sorted(lost, key=lambda m: (-len(m.lost), m.table_recall, -len(m.lost_columns), m.id))[
        :n
    ]
