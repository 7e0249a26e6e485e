"""The measure of documents prints a line for each file and reader."""

from __future__ import annotations

from tools.bench import documents


def test_files_are_measured_cell_by_cell(tmp_path, capsys):
    documents.main(["--only", "winnow", "--keep", str(tmp_path), "old.xls", "decoy-en.html"])
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].split()[:4] == ["old.xls", "winnow", "105/105", "0"]
    assert lines[2].split()[:4] == ["decoy-en.html", "winnow", "0/0", "0"]
    assert 0 < float(lines[1].split()[-1]) < 1000
    assert lines[-1].startswith("all *.xls")
