"""The rules of the house: what may be imported when, and what every stage has to have."""

from __future__ import annotations

import ast
import graphlib
import pkgutil
import re
from importlib import import_module
from pathlib import Path

import pytest

from stages.cli import REGISTRY, first_line
from tests.helpers.tools import imported, run
from tools.make import pictures

ROOT = Path(__file__).resolve().parents[1]
HEAVY = {
    "litellm",
    "openai",
    "duckdb",
    "sqlglot",
    "jsonschema",
    "numpy",
    "jinja2",
    "rich",
    "asyncio",
    "pandas",
}
FORBIDDEN = {
    "scan": HEAVY - {"duckdb"},
    "collapse": HEAVY,
    "show": HEAVY - {"rich"},
    "vote": HEAVY - {"jinja2", "numpy"},
    "link": HEAVY - {"numpy"},
    "describe": HEAVY,
    "prompt": HEAVY - {"jinja2"},
}
"""What a run without a model must not import; counting tokens needs tiktoken alone."""


@pytest.mark.parametrize(
    "argv", [["--help"], ["--version"], *[[name, "--help"] for name in REGISTRY]]
)
def test_help_imports_nothing_heavy(argv):
    assert not imported(argv) & HEAVY


def test_stages_without_a_model_import_nothing_heavy(tmp_path):
    """The first of them reads the values of the data; those after it find them."""
    env = {"WINNOW_CACHE": str(tmp_path)}
    lines = run("scan", "examples/task_15", env=env).out
    run("vote", stdin=lines, env=env)
    for name in ("vote", "collapse", "describe", "prompt", "show"):
        assert not imported([name], lines, env) & FORBIDDEN[name], name
        if name != "show":
            lines = run(name, stdin=lines, env=env).out


def test_scan_of_schemas_or_sqlite_imports_no_duckdb(tmp_path):
    import shutil

    shutil.copy(ROOT / "examples/task_15/context/db/hr.db", tmp_path / "hr.db")
    assert "duckdb" not in imported(["scan", str(tmp_path), "--question", "who is late?"])


@pytest.mark.parametrize("name", REGISTRY)
def test_every_command_has_its_parts(name):
    assert (ROOT / "stages" / f"{name}.py").is_file()
    assert first_line(name).endswith("."), "the docstring starts with one sentence"
    shim = (ROOT / "bin" / name).read_text()
    assert shim == (ROOT / "bin" / "scan").read_text(), "the shims are identical"
    text = (ROOT / "stages" / f"{name}.py").read_text()
    if "\nSTAGE = " in text:
        assert (ROOT / "schemas" / f"{name}.schema.json").is_file()
        assert list((ROOT / "tests" / "cases" / name).glob("*/cmd"))


def test_bin_holds_nothing_else():
    assert {path.name for path in (ROOT / "bin").iterdir()} == {"winnow", *REGISTRY}
    assert (ROOT / "bin" / "winnow").read_text() == (ROOT / "bin" / "scan").read_text()


def test_litellm_is_imported_in_one_module():
    naming = re.compile(r"""^\s*(?:import|from) litellm|import_module\(["']litellm""", re.MULTILINE)
    found = [path for path in modules() if naming.search(path.read_text("utf-8"))]
    assert found == [ROOT / "stages/core/model/transport/litellm.py"]


def test_stage_modules_are_commands_and_nothing_else():
    here = {p.stem for p in (ROOT / "stages").glob("*.py")} - {"__init__", "__main__", "cli"}
    assert here == set(REGISTRY)


def modules() -> list[Path]:
    return sorted((ROOT / "stages").rglob("*.py"))


@pytest.mark.parametrize("path", modules(), ids=lambda p: str(p.relative_to(ROOT)))
def test_functions_are_short_and_public_names_documented(path):
    text = path.read_text("utf-8")
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            assert (node.end_lineno or 0) - node.lineno < 50, f"{node.name} is long"
    for node in ast.parse(text).body:
        if isinstance(
            node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
        ) and not node.name.startswith("_"):
            if any(ast.unparse(mark) == "overload" for mark in node.decorator_list):
                continue  # a signature of what is documented below it
            assert ast.get_docstring(node), f"{node.name} has no docstring"


@pytest.mark.parametrize(
    "path",
    sorted(p for p in (ROOT / "tests").rglob("*.py") if "cases" not in p.parts),
    ids=lambda p: str(p.relative_to(ROOT)),
)
def test_tests_import_helpers_and_no_other_test(path):
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"line {node.lineno}: name the module in full"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            continue
        for name in names:
            own = not name.startswith("tests.") or name.startswith("tests.helpers.")
            assert own, f"line {node.lineno} imports {name}: move what is shared to tests/helpers"


MOST_ANY = 30
"""Uses of `Any` in stages/: objects of sqlglot, litellm and duckdb, and the aliases that explain it."""
MOST_ALIASES = 280
"""Uses of those aliases: JSON before it has been checked, options of click, drivers of servers,
messages between processes, traces of others."""


def test_any_is_the_exception_and_has_a_reason():
    """A reason stands as ``# Any: why`` on the line or above it, or is the text of an alias."""
    bare, uses, through, aliases = (
        [],
        0,
        0,
        {"JsonValue", "JsonObject", "JsonMapping", "Options", "Connection"},
    )
    for path in (ROOT / "stages").rglob("*.py"):
        text = path.read_text("utf-8")
        lines = text.splitlines()
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Name) and node.id in aliases:
                through += 1
            elif isinstance(node, ast.Name) and node.id == "Any":
                uses += 1
                near = lines[max(0, node.lineno - 3) : node.lineno]
                alias = ": TypeAlias = " in near[-1] and lines[node.lineno].startswith('"""')
                if not alias and not any("# Any" in line for line in near):
                    bare.append(f"{path.name}:{node.lineno}")
    assert not bare, "name the record, say object where nothing is asked of it, or say why"
    assert uses <= MOST_ANY
    assert through <= MOST_ALIASES


def constants(path: Path) -> set[str]:
    """The strings of a module, apart from docstrings."""
    tree = ast.parse(path.read_text("utf-8"))
    texts = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    nodes = (node for node in ast.walk(tree) if isinstance(node, ast.Constant))
    return {node.value for node in nodes if isinstance(node.value, str) and id(node) not in texts}


def test_a_server_stands_in_its_dialect_its_inventory_and_its_engine_alone():
    """So that another one is three edits; what a statement is written in is another matter."""
    from stages.core.dialects import SERVERS

    places = [
        path
        for folder in ("catalog/servers", "sandbox/servers", "sandbox/engine", "runtime")
        for path in sorted((ROOT / "stages/core" / folder).rglob("*.py"))
    ]
    for server in SERVERS:
        own = f"{server.kind}.py"
        assert [path.parent.parent.name for path in places if path.name == own] == [
            "catalog",
            "sandbox",
        ]
        names = {server.kind, server.sql, *server.schemes}
        found = [path for path in places if names & constants(path)]
        assert {path.stem for path in found} <= {each.kind for each in SERVERS}
    kinds = {"postgresql", "mariadb"}
    others = [path for path in modules() if kinds & constants(path) and path not in places]
    assert {path.name for path in others} <= {"dialects.py", "ddl_format.py"}


def test_no_class_name_twice():
    """Records of lines and those that are made in passing included: a name is one idea."""
    places: dict[str, list[str]] = {}
    for path in modules():
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ClassDef):
                places.setdefault(node.name.lstrip("_"), []).append(str(path.relative_to(ROOT)))
    assert {name: found for name, found in places.items() if len(found) > 1} == {}


def module_name(path: Path) -> str:
    """``stages.core.text`` for its file; a package by its folder."""
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def import_graph(**options: bool) -> dict[str, set[str]]:
    """For each module, those of ours that it imports at its head or within a function."""
    texts = {module_name(path): path.read_text("utf-8") for path in modules()}
    return {name: {*pictures.imported(text, **options)} - {name} for name, text in texts.items()}


def test_imports_between_modules_run_in_no_circle():
    """Late imports count: a circle that is cut by one is a circle, and hides where things belong."""
    sorter = graphlib.TopologicalSorter(import_graph())
    try:
        sorter.prepare()
    except graphlib.CycleError as circle:
        pytest.fail("imports run in a circle: " + " <- ".join(circle.args[1]))


ONE_IMPORTER = {
    "late: the one that imports it starts without what it needs": """
        stages.cli  catalog.lineage  catalog.sources.csv.loader  catalog.sources.json.loader
        catalog.sources.sqlite.loader
        judge.pipeline  judge.section  linking.explore.builtin  linking.explore.conversation
        linking.refine.builtin  linking.refine.refiner  model.cache_listing
        run.schema_mode  runtime.outputs""",
    "one file for each of its kind: a format, a source, a server, a reader, a view of show": """
        documents.pdf  documents.slides  documents.subtitles  documents.word
        documents.workbooks
        catalog.servers.mysql
        catalog.servers.postgresql  readers.link  readers.vote  model.transport.litellm
        judge.priors.model_choice  show.compare  show.why""",
    "a layer of security, to be read by itself": """
        sandbox.engine.child  sandbox.gate.repair  sandbox.gate.translate
        sandbox.servers.admission  sandbox.servers.postgres_traps  sandbox.servers.sizes""",
    "forms of one kind of function, beside those of the other kinds": """
        sandbox.forms.operators  sandbox.forms.sqlite_times  sandbox.forms.texts""",
    "the work of a stage, apart from its command and options": """
        linking.prune.ask  linking.refine.apex  linking.summarize  linking.vote""",
    "a step of reading data that knows nothing of the step before it": """
        documents.database  documents.prose  documents.task  documents.isolation  documents.recognition
        catalog.pool  catalog.scan_cache  catalog.video  catalog.sources.json.columns
        catalog.sources.sqlite.sample  lines.edits  linking.resolve  model.conversation""",
    "a kind of evidence or a learned model with rules of its own, trained or tested apart": """
        judge.explain  judge.index.copies  judge.index.names  judge.index.parts
        judge.question.entities  judge.rank.column_features  judge.rank.set_model  judge.store""",
    "a part of a run that can be read, and replaced, by itself: what it was made of, how far it is,\n    who works": """
        run.child  run.driver  run.progress  run.provenance""",
    "a format of traces, beside the others": "trace.atif",
    "what the package `winnow` is made of": "runtime.library",
    "imported late by the package that names it, or the one idea of its kind": """
        catalog.scan  sandbox.values  values.find  values.spans""",
}
"""Why a module that only one other imports stands by itself; `core` is left out of their names."""


def test_module_with_one_importer_has_a_reason_to_stand_by_itself():
    importers: dict[str, set[str]] = {}
    for name, others in import_graph(typing=True).items():
        for other in others:
            importers.setdefault(other, set()).add(name)
    packages = {module_name(path) for path in modules() if path.name == "__init__.py"}
    single = {
        name.replace("stages.core.", ""): by.pop()
        for name, by in importers.items()
        if len(by) == 1 and name not in packages
    }
    reasons = {name: why for why, names in ONE_IMPORTER.items() for name in names.split()}
    assert len(reasons) == sum(len(names.split()) for names in ONE_IMPORTER.values())
    assert set(single) - set(reasons) == set(), "merge it into its importer, or give the reason"
    assert set(reasons) - set(single) == set(), "more than one imports it by now, or none"
    for name in (name for name, why in reasons.items() if why.startswith("late")):
        full = name if name.startswith("stages.") else f"stages.core.{name}"
        assert full not in imported_first(single[name]), "it is imported at the head"


def imported_first(module: str) -> set[str]:
    """What a module imports before anything is called."""
    path = ROOT / module.replace(".", "/")
    text = (path / "__init__.py" if path.is_dir() else path.with_suffix(".py")).read_text("utf-8")
    body = [node for node in ast.parse(text).body if isinstance(node, ast.ImportFrom)]
    return {*pictures.imported(ast.unparse(ast.Module(body, [])))}


SECTIONS = ("link", "plan", "prune", "summarize", "explore", "refine", "vote", "collapse")
"""Sections by stage; ``describe`` and ``prompt`` are words of SQL and of ``meta`` as well."""
NAMED_BESIDE = {
    "stages/ask.py": (
        "plan prune summarize explore refine vote link collapse describe prompt",
        "the chain in one call",
    ),
    "stages/evaluate.py": ("link prune refine vote collapse", "it measures what they kept"),
    "stages/core/context/view.py": (
        "link prune refine vote collapse",
        "the view of a table that describe writes is made of all of them",
    ),
    "stages/core/context/folded.py": ("collapse", "the sentence that says who folded a table"),
    "stages/core/lines/edits.py": ("collapse", "a word that users write for `fold`"),
    "stages/core/show/overview.py": ("link vote", "tables are listed in the order they give"),
    "stages/core/show/why.py": ("collapse", "what became of a table in the end"),
    "stages/core/linking/judgment.py": ("link", "it stands for the judge's answer"),
    "stages/core/linking/brief.py": ("plan vote", "what prompts say of a task; vote's own prompt"),
    "stages/core/linking/explore/conversation.py": (
        "plan prune summarize",
        "its prompt shows what they said",
    ),
    "stages/core/linking/refine/apex.py": ("prune explore", "the form that a contest wants"),
    "stages/core/linking/refine/builtin.py": ("link explore", "it refines what they kept"),
    "stages/core/linking/refine/candidates.py": (
        "prune summarize explore",
        "a candidate is what they say of a table",
    ),
    "stages/core/linking/refine/rounds.py": ("summarize", "its prompt shows the analysis"),
}
"""Modules that name sections of other stages, and why; a command says so in its `STAGE`."""


@pytest.mark.parametrize("name", SECTIONS)
def test_stage_is_named_where_it_stands_and_where_its_section_is_needed(name):
    """So that another stage is its module, its schema, its reader, its work and two lists."""
    own = {f"stages/{name}.py", f"stages/core/readers/{name}.py", "stages/core/records.py"}
    lists = {"stages/cli.py", "stages/core/lines/sections.py"}
    found = {str(path.relative_to(ROOT)) for path in modules() if name in constants(path)}
    found = {p for p in found - own - lists if not p.startswith(f"stages/core/linking/{name}")}
    declared = {path for path in found if name in sections_of_command(path)}
    excused = {path for path, (names, _) in NAMED_BESIDE.items() if name in names.split()}
    assert found - declared - excused == set(), "take it through its reader, or say why not"
    assert excused - found == set(), "it is named there no more"


def sections_of_command(path: str) -> tuple[str, ...]:
    """The sections that a command says it reads; none where it is no stage."""
    if Path(path).parent != Path("stages"):
        return ()
    stage = getattr(import_module(f"stages.{Path(path).stem}"), "STAGE", None)
    return (*stage.needs, *stage.needs_any, *stage.uses) if stage else ()


@pytest.mark.parametrize("path", modules(), ids=lambda p: str(p.relative_to(ROOT)))
def test_what_comments_refer_to_is_there(path):
    """A name in backticks that starts with ``core.`` is a module, or stands in one."""
    for name in re.findall(r"`(core(?:\.\w+)+)`", path.read_text("utf-8")):
        assert is_found(f"stages.{name}"), name


WORDS = re.compile(r"\w+")


@pytest.fixture(scope="module")
def words() -> frozenset[str]:
    """Every name in the code, those of modules too; what texts say does not count."""
    found = {part for path in modules() for part in (*path.parts, path.stem)}
    for path in modules():
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            for kind in ("name", "id", "attr", "arg", "asname", "module"):
                found.update(WORDS.findall(str(getattr(node, kind, None))))
    return frozenset(found)


@pytest.mark.parametrize("path", modules(), ids=lambda p: str(p.relative_to(ROOT)))
def test_names_in_docstrings_and_comments_are_in_the_code(path, words):
    text = path.read_text("utf-8")
    for name in re.findall(r"(?<!`)`([A-Za-z_][\w.]*)`(?!`)", text):
        assert set(name.split(".")) <= words, name
    known = {*WORDS.findall(re.sub(r"^ +\w+(, \w+)*: .*", "", text, flags=re.MULTILINE))}
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            _, _, raised = (ast.get_docstring(node) or "").partition("Raises:\n")
            for names in re.findall(r"^ {4}(\w+(?:, \w+)*): ", raised, re.MULTILINE):
                for name in names.split(", "):
                    there = is_found(f"stages.core.errors.{name}") or name in known
                    assert there or is_found(f"builtins.{name}"), name


def is_found(name: str) -> bool:
    """Whether a dotted name leads to a module, or to something in one."""
    try:
        return bool(pkgutil.resolve_name(name))
    except (ImportError, AttributeError):
        return False


NO_NAMES = frozenset(
    [
        "alike",
        "asked",
        "chosen",
        "dealt",
        "held",
        "joined",
        "lifted",
        "met",
        "paper",
        "picked",
        "portion",
        "recalled",
        "ruled",
        "standing",
        "talk",
        "tongue",
        "tried",
    ]
)
"""Words that say that something was done, and not what it is; and private words for things."""


@pytest.mark.parametrize("path", modules(), ids=lambda p: str(p.relative_to(ROOT)))
def test_what_is_defined_has_a_name_of_its_field(path):
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    nodes = [
        node for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, kinds)
    ]
    assert {node.name.strip("_").lower() for node in nodes} & NO_NAMES == set()
    assert path.stem not in NO_NAMES
