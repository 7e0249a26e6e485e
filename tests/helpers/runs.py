"""Runs over small datasets of their own: a folder with one database, questions, a file of keys."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tests.helpers.tools import Done, run

CSV = {
    "customers": "customer_id,name,country\n1,Ann,Norway\n2,Bo,Chile\n3,Cy,Peru\n",
    "orders": "order_id,customer_id,total\n10,1,5.0\n11,2,7.5\n12,1,1.0\n",
    "weather": "day,rain_mm\n2025-01-01,3\n2025-01-02,0\n",
    "parts": "part_id,weight_kg\n1,4\n2,9\n",
}
QUESTIONS = (
    "Which customers live in Norway?",
    "What is the total of all orders?",
    "How much rain fell on 2025-01-01?",
    "Which part has the greatest weight?",
)


@dataclass
class Desk:
    """A folder in which runs are started.

    Attributes:
        folder: The folder; ``data/``, ``questions.jsonl`` and ``runs/`` lie in it.
    """

    folder: Path

    @classmethod
    def at(cls, folder: Path, questions: Sequence[str] = QUESTIONS) -> Desk:
        """Write the data and the questions."""
        (folder / "data").mkdir(parents=True)
        for name, text in CSV.items():
            (folder / "data" / f"{name}.csv").write_text(text)
        desk = cls(folder)
        desk.ask(questions)
        return desk

    def ask(self, questions: Sequence[str]) -> None:
        """Write the file of questions; ids are q0, q1, …"""
        lines = [json.dumps({"id": f"q{n}", "question": q}) for n, q in enumerate(questions)]
        (self.folder / "questions.jsonl").write_text("\n".join(lines) + "\n")

    def config(self, **keys: Any) -> str:
        """Write ``run.yaml``: the questions over the data, and further keys."""
        dataset = {"source": "data", "questions": "questions.jsonl"}
        record = {"dataset": dataset, "store": "runs", **keys}
        (self.folder / "run.yaml").write_text(yaml.safe_dump(record))
        return "run.yaml"

    def run(self, *argv: str, **options: Any) -> Done:
        """``winnow run --config run.yaml ARGV`` in the folder."""
        env = {"WINNOW_CACHE": str(self.folder / "cache"), **options.pop("env", {})}
        return run("run", "--config", "run.yaml", *argv, cwd=self.folder, env=env, **options)

    def files(self, run_id: str, *, times: bool = False) -> dict[str, bytes]:
        """Every file of every task of a run, and of its catalogs, by path."""
        root = self.folder / "runs" / run_id
        found = {path for path in root.rglob("*") if path.is_file() and path.parent != root}
        kept = sorted(path for path in found if times or path.name != "timing.json")
        return {str(path.relative_to(root)): path.read_bytes() for path in kept}

    def json(self, run_id: str, path: str) -> Any:
        """A file of a run, decoded."""
        return json.loads((self.folder / "runs" / run_id / path).read_text())
