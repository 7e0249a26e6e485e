"""Write stages/core/records.py: a TypedDict for every titled object of schemas/*.schema.json.

python tools/make/records.py [--check]
"""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parents[2]
TARGET = HERE / "stages" / "core" / "records.py"
HEAD = '''"""The records that stand on lines, as types. Made by tools/make/records.py from schemas/.

At run time every record is a dict: the classes are for type checkers alone, since making
them would cost each command more than reading a line does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Literal, NotRequired, TypedDict

    from stages.core.jsontypes import JsonObject, JsonValue

__all__ = [
{names}
]

if TYPE_CHECKING:
'''
TAIL = """
else:

    def __getattr__(name: str) -> type:
        if name in __all__:
            return dict
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
"""
PLAIN = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}

#: What the runner fills in when a stage has returned, and a section written by hand may lack.
FILLED_IN = {"meta", "of"}


class Writer:
    """Collects one TypedDict per titled object, referenced ones included."""

    def __init__(self, schemas: dict[str, dict[str, Any]]) -> None:
        self.schemas = schemas
        self.classes: dict[str, str] = {}

    def type_of(self, node: dict[str, Any], base: dict[str, Any]) -> str:
        """The annotation for one schema node; ``base`` is the document it stands in."""
        if "$ref" in node:
            return self.type_of(*self.resolve(node["$ref"], base))
        if "const" in node or "enum" in node:
            values = node.get("enum", [node.get("const")])
            return f"Literal[{', '.join(repr(v) for v in values)}]"
        kind = node.get("type", "any")
        if isinstance(kind, list):
            return " | ".join(self.type_of({**node, "type": k}, base) for k in kind)
        if kind == "array":
            return f"list[{self.type_of(node['items'], base) if 'items' in node else 'JsonValue'}]"
        if kind == "object":
            return self.object_type(node, base)
        return PLAIN.get(kind, "JsonValue")

    def object_type(self, node: dict[str, Any], base: dict[str, Any]) -> str:
        """A TypedDict's name where the object has a title, else a dict."""
        if "title" in node:
            self.add(node, base)
            return str(node["title"])
        more = node.get("additionalProperties")
        return f"dict[str, {self.type_of(more, base)}]" if isinstance(more, dict) else "JsonObject"

    def resolve(self, ref: str, base: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        """The node a reference points at, and its document."""
        head, _, path = ref.partition("#")
        document = self.schemas[head] if head else base
        node = document
        for part in filter(None, path.split("/")):
            node = node[part]
        return node, document

    def add(self, node: dict[str, Any], base: dict[str, Any]) -> None:
        """Write the class of one titled object, after the classes that it refers to."""
        name = node["title"]
        if name in self.classes:
            return
        self.classes[name] = ""
        required = set(node.get("required", ())) - FILLED_IN
        lines = [f"class {name}(TypedDict):", f'    """{node.get("description", name)}"""', ""]
        fields = []
        for key, value in node.get("properties", {}).items():
            kind = self.type_of(value, base)
            fields.append((key, kind if key in required else f"NotRequired[{kind}]"))
        if all(key.isidentifier() and key not in {"from"} for key, _ in fields):
            lines += [f"    {key}: {kind}" for key, kind in fields]
            text = "\n".join(lines)
        else:
            pairs = "".join(f'        "{key}": {kind},\n' for key, kind in fields)
            text = f'{name} = TypedDict(\n    "{name}",\n    {{\n{pairs}    }},\n)'
        self.classes.pop(name)
        self.classes[name] = text


def render() -> str:
    """The whole module as text."""
    documents = [
        json.loads(p.read_text("utf-8")) for p in sorted((HERE / "schemas").glob("*.schema.json"))
    ]
    writer = Writer({d["$id"]: d for d in documents})
    for document in documents:
        writer.type_of(document, document)
    names = "\n".join(f'    "{n}",' for n in sorted(writer.classes))
    classes = textwrap.indent("\n\n\n".join(writer.classes.values()), "    ")
    text = HEAD.replace("{names}", names) + classes + TAIL
    command = [sys.executable, "-m", "ruff", "format", "--stdin-filename", str(TARGET), "-"]
    return subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout


def main() -> int:
    """Write the module, or with --check say whether it is as it should be."""
    text = render()
    if "--check" in sys.argv[1:]:
        return 0 if TARGET.exists() and TARGET.read_text("utf-8") == text else 1
    TARGET.write_text(text, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
