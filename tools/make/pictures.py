"""Draw docs/chain.svg and docs/architecture.svg.

    python tools/make/pictures.py [--check]

The chain is laid by hand below. The packages are read off the tree: each box stands above what
it imports, an arrow is an import that no longer way of arrows already tells, and a circle is an
error. Imports for annotations alone are left out, since they never run.
"""

from __future__ import annotations

import ast
import itertools
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from html import escape
from pathlib import Path

HERE = Path(__file__).resolve().parents[2]


from stages.cli import REGISTRY  # noqa: E402

DOCS = HERE / "docs"
CORE = HERE / "stages" / "core"
COMMANDS, GROUND = "commands", "core"

FILLS = {
    "stage": "#e8f0fb",
    "model": "#fdf0d8",
    "data": "#eeeeee",
    "tool": "#eef7ea",
}
LINE = "#444444"
STYLE = (
    "text{font-family:'DejaVu Sans',Verdana,'Noto Sans CJK SC',sans-serif;fill:#1c1c1c}"
    ".name{font-size:14px;font-weight:bold}.note{font-size:11px}"
    ".head{font-size:13px;font-style:italic}"
)


@dataclass(frozen=True)
class Box:
    """One box: where its upper left corner is and how large it is, in pixels."""

    name: str
    x: float
    y: float
    width: float
    height: float
    notes: tuple[str, ...] = ()
    fill: str = "stage"

    @property
    def middle(self) -> float:
        """Half its width."""
        return self.x + self.width / 2


def drawn(box: Box) -> Iterator[str]:
    """A box with its name and the lines below it."""
    yield (
        f'<rect x="{box.x:g}" y="{box.y:g}" width="{box.width:g}" height="{box.height:g}" '
        f'rx="6" fill="{FILLS[box.fill]}" stroke="{LINE}"/>'
    )
    lines = [(box.name, "name", 18), *((note, "note", 15) for note in box.notes)]
    tall = sum(step for _, _, step in lines)
    y = box.y + (box.height - tall) / 2
    for text, kind, step in lines:
        y += step
        yield (
            f'<text class="{kind}" x="{box.middle:g}" y="{y - 4:g}" text-anchor="middle">'
            f"{escape(text)}</text>"
        )


def arrow(*points: tuple[float, float], dashed: bool = False) -> str:
    """A line through points, with a head at its end."""
    path = " ".join(f"{x:g},{y:g}" for x, y in points)
    dash = ' stroke-dasharray="5 4"' if dashed else ""
    return f'<polyline points="{path}" fill="none" stroke="{LINE}"{dash} marker-end="url(#head)"/>'


def picture(width: float, height: float, title: str, parts: list[str]) -> str:
    """A whole SVG file."""
    marker = (
        '<defs><marker id="head" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="8" '
        f'markerHeight="8" orient="auto"><path d="M0,1 L9,5 L0,9 z" fill="{LINE}"/></marker></defs>'
    )
    return "\n".join(
        [
            (
                f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" '
                f'width="{width:g}" height="{height:g}" role="img">'
            ),
            f"<title>{escape(title)}</title>",
            f"<style>{STYLE}</style>",
            marker,
            f'<rect width="{width:g}" height="{height:g}" fill="#ffffff"/>',
            *parts,
            "</svg>\n",
        ]
    )


def label(text: str, x: float, y: float) -> str:
    """A heading of its own."""
    return f'<text class="head" x="{x:g}" y="{y:g}">{escape(text)}</text>'


# The chain.

WIDE, TALL, GAP = 122, 62, 26
TABLES = (
    ("data", ("folders, files, servers,", "schemas, questions"), "data"),
    ("scan", ("catalog, tables,", "tasks"), "stage"),
    ("vote", ("which tables?",), "model"),
    ("collapse", ("in full, by names,", "or as a line"), "stage"),
    ("describe", ("the context", "description"), "stage"),
    ("prompt", ("the solver's", "messages"), "stage"),
)
COLUMNS = (
    ("plan", ("what is asked", "(no schema)"), "model"),
    ("prune", ("the safe superset", "of columns"), "model"),
    ("summarize", ("what each table", "is for"), "model"),
    ("explore", ("SQL on each table", "(sandboxed)"), "model"),
    ("refine", ("one connected", "schema"), "model"),
)
TOOLS = {
    "link": ("ranks tables and", "columns, with reasons"),
    "show": ("read, compare,", "ask why"),
    "query": ("read-only SQL on", "every table"),
    "scaffold": ("workdir/solver.py", "for a task"),
    "evaluate": ("what was kept,", "against gold"),
    "cache": ("kept replies", "of models"),
}


def row(steps: tuple[tuple[str, tuple[str, ...], str], ...], x: float, y: float) -> list[Box]:
    """Boxes side by side."""
    return [
        Box(name, x + i * (WIDE + GAP), y, WIDE, TALL, notes, fill)
        for i, (name, notes, fill) in enumerate(steps)
    ]


def between(boxes: list[Box]) -> list[str]:
    """Arrows from each box to the next."""
    pairs = itertools.pairwise(boxes)
    return [arrow((a.x + a.width, a.y + TALL / 2), (b.x, b.y + TALL / 2)) for a, b in pairs]


def chain() -> str:
    """The commands from data to prompt."""
    tables = row(TABLES, 20, 50)
    columns = row(COLUMNS, 20 + WIDE + GAP, 178)
    kinds = {"link": "model"}
    tools = row(
        tuple((name, notes, kinds.get(name, "tool")) for name, notes in TOOLS.items()), 20, 306
    )
    scan, collapse = tables[1], tables[3]
    plan, refine = columns[0], columns[-1]
    bend = 145
    parts = [
        label("tables: the short way", 20 + 2 * (WIDE + GAP), 38),
        label("columns: where even the needed tables are too wide", 20 + 2 * (WIDE + GAP), 166),
        label("beside the chain, at any time", 20, 294),
        *between(tables),
        *between(columns),
        arrow((scan.middle, scan.y + TALL), (plan.middle, plan.y)),
        arrow(
            (refine.middle, refine.y), (refine.middle, bend), (collapse.middle, bend),
            (collapse.middle, collapse.y + TALL),
        ),
        '<rect x="20" y="388" width="14" height="14" fill="#fdf0d8" stroke="#444444"/>',
        ('<text class="note" x="40" y="399">asks a model with --model; without it the built-in '
        "judge answers, and nothing leaves the machine</text>"),
    ]  # fmt: skip
    for box in (*tables, *columns, *tools):
        parts += drawn(box)
    return picture(
        20 + 6 * (WIDE + GAP), 412, "winnow: from data and a question to a prompt", parts
    )


# The packages.


def package(module: str) -> str:
    """The box that a module stands in: a package of core, core itself, or the commands."""
    words = module.split(".")
    if words[:2] != ["stages", "core"]:
        return COMMANDS
    return words[2] if len(words) > 2 and (CORE / words[2]).is_dir() else GROUND


def runs(tree: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a module that run; what stands under TYPE_CHECKING does not."""
    yield tree
    for child in ast.iter_child_nodes(tree):
        if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
            continue
        yield from runs(child)


def imported(source: str, *, typing: bool = False) -> Iterator[str]:
    """The modules of ours that a module imports, at its head or within a function.

    Args:
        source: The text of the module.
        typing: Imports for annotations alone are among them.

    >>> list(imported("from stages.core import text"))
    ['stages.core.text']
    """
    for node in ast.walk(ast.parse(source)) if typing else runs(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("stages."):
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                place = HERE / inner.replace(".", "/")
                is_module = place.is_dir() or place.with_suffix(".py").exists()
                yield inner if is_module else str(node.module)


def graph() -> dict[str, set[str]]:
    """For each package, the packages that it imports."""
    found: dict[str, set[str]] = {}
    for path in sorted((HERE / "stages").rglob("*.py")):
        module = ".".join(path.relative_to(HERE).with_suffix("").parts).removesuffix(".__init__")
        own = package(module)
        others = {package(name) for name in imported(path.read_text("utf-8"))}
        found.setdefault(own, set()).update(others - {own})
    return found


def below(edges: Mapping[str, set[str]], name: str, way: tuple[str, ...] = ()) -> set[str]:
    """All that a package rests on.

    Raises:
        ValueError: Imports run in a circle.
    """
    if name in way:
        raise ValueError("imports run in a circle: " + " -> ".join([*way[way.index(name) :], name]))
    direct = edges.get(name, set())
    return direct.union(*(below(edges, other, (*way, name)) for other in direct))


def level(edges: Mapping[str, set[str]], name: str) -> int:
    """How many storeys stand under a package."""
    return max((level(edges, other) + 1 for other in edges.get(name, ())), default=0)


def reduced(edges: Mapping[str, set[str]]) -> dict[str, list[str]]:
    """The imports without those that a longer way already tells."""
    return {
        name: sorted(d for d in direct if not any(d in below(edges, other) for other in direct))
        for name, direct in edges.items()
    }


def about(name: str) -> str:
    """The first sentence of a package's docstring."""
    text = ast.get_docstring(ast.parse((CORE / name / "__init__.py").read_text("utf-8"))) or ""
    return text.split("\n", 1)[0].partition(":")[0].rstrip(".")


def parts_of(name: str) -> tuple[str, ...]:
    """What a package is, and the packages within it, in lines that fit the box."""
    folder = CORE / name
    inner = sorted(p.parent.name for p in folder.glob("*/__init__.py"))
    return (about(name), *wrapped(inner, 40)) if inner else (about(name),)


def wrapped(words: list[str], width: int) -> Iterator[str]:
    """Words in lines of no more than a width.

    >>> list(wrapped(["bytes", "duck"], 8))
    ['bytes ·', 'duck']
    """
    line = ""
    for at, word in enumerate(words):
        joined = f"{line} {word}".strip() + (" ·" if at < len(words) - 1 else "")
        if line and len(joined) > width:
            yield line
            joined = word + (" ·" if at < len(words) - 1 else "")
        line = joined
    yield line


PAGE, STOREY, HIGH = 980, 118, 80


def placed(edges: Mapping[str, set[str]]) -> dict[str, Box]:
    """The packages of core between the commands and the ground, storey by storey."""
    inner = sorted(set(edges) - {COMMANDS, GROUND})
    top = max(level(edges, name) for name in inner)
    boxes = {}
    for storey in range(1, top + 1):
        names = [name for name in inner if level(edges, name) == storey]
        slot = (PAGE - 40) / len(names)
        for at, name in enumerate(names):
            wide = min(280.0, slot - 30)
            x = 20 + at * slot + (slot - wide) / 2
            y = 150 + (top - storey) * STOREY
            boxes[name] = Box(name, x, y, wide, HIGH, parts_of(name))
    return boxes


def ends(edges: Mapping[str, list[str]], boxes: Mapping[str, Box]) -> Iterator[str]:
    """The arrows from one storey to the next, each with a place of its own on the edges of the
    boxes it joins; longer ones would cross what stands between."""
    joined = [
        (a, b)
        for a in sorted(edges)
        for b in edges[a]
        if a in boxes and b in boxes and boxes[b].y - boxes[a].y <= STOREY
    ]
    for a, b in joined:
        out = sorted((y for x, y in joined if x == a), key=lambda name: boxes[name].middle)
        into = sorted((x for x, y in joined if y == b), key=lambda name: boxes[name].middle)
        start = boxes[a].x + boxes[a].width * (out.index(b) + 1) / (len(out) + 1)
        end = boxes[b].x + boxes[b].width * (into.index(a) + 1) / (len(into) + 1)
        yield arrow((start, boxes[a].y + HIGH), (end, boxes[b].y))


def architecture() -> str:
    """The packages, each above what it imports."""
    edges = graph()
    for name in edges:
        below(edges, name)
    boxes = placed(edges)
    bottom = max(box.y for box in boxes.values()) + STOREY
    modules = sorted(path.stem for path in CORE.glob("*.py") if path.stem != "__init__")
    ground = Box("core", 20, bottom, PAGE - 40, HIGH, tuple(wrapped(modules, 110)), "data")
    commands = Box(
        "the commands",
        20,
        36,
        PAGE - 40,
        HIGH - 10,
        (" · ".join(REGISTRY), "one file each; cli.py imports the one that is called"),
        "stage",
    )
    parts = [
        label("each box stands above what it imports; arrows to the next storey are drawn", 20, 26),
        *ends(reduced(edges), boxes),
    ]
    for box in (commands, *boxes.values(), ground):
        parts += drawn(box)
    note = "the modules that lie loose in core; everything above may import them"
    parts.append(label(note, 20, bottom + HIGH + 18))
    return picture(PAGE, bottom + HIGH + 32, "winnow: packages, each above what it imports", parts)


def main() -> int:
    """Write the pictures, or with --check say which are not as the tree is."""
    pictures = {DOCS / "chain.svg": chain(), DOCS / "architecture.svg": architecture()}
    if "--check" not in sys.argv[1:]:
        for path, text in pictures.items():
            path.write_text(text, "utf-8")
        return 0
    stale = [p for p, text in pictures.items() if not p.exists() or p.read_text("utf-8") != text]
    for path in stale:
        print(f"{path.relative_to(HERE)} is not as it is drawn; run `make generated`")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
