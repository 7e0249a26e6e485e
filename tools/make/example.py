"""Make examples/task_15: a small task after the example of the first seed, 2.3.

    python tools/make/example.py [FOLDER]

Everything is computed from fixed formulas, so each run writes the same content.
"""

from __future__ import annotations

import csv
import json
import sqlite3
import sys
from collections.abc import Iterable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

QUESTION = "2025 年营业收入超过 100 万元且仍在经营的企业有哪些？请列出企业名称和营业收入，按收入从高到低排列。"  # noqa: E501

CITIES = ("杭州", "成都", "武汉", "苏州", "青岛", "厦门")
TRADES = ("食品", "机械", "软件", "物流", "纺织")
WORDS = ("云杉", "青石", "白鹭", "海棠", "松塔", "赤铁", "麦田", "北斗", "银杏", "长风")

KNOWLEDGE = """\
# 企业经营数据说明

## 1. 实体与字段

### 企业财务（company_financials）
- **company_id**：企业编号，形如 C001，与企业档案一致。
- **revenue**：营业收入，单位为元。题目说“万元”时要换算：1 万元 = 10000 元。
- **year**：会计年度，四位数字。
- **status**：经营状态。`active` 是仍在经营，`inactive` 是停业或注销。

### 企业档案（company_profile）
- **company_id**：企业编号，主键。
- **company_name**：企业名称。答案里的企业一律写名称，不写编号。
- **city**、**trade**、**founded**：所在城市、行业、成立年份。

### 员工考勤（employee_attendance）
- 人事系统的打卡记录，**employee_id** 与企业编号无关。

## 2. 口径
- 没有特别说明时，营业收入取当年一整年的数，不做平均。
- **停业企业**当年也会有收入记录，是否计入看题目有没有要求“仍在经营”。
"""

TASK = {"task_id": "task_15", "question": QUESTION, "difficulty": "easy"}

FILTERS = (
    '[:page [:row [:card [:h2 "筛选条件"] [:label "年度"] [:value "2025"] [:label "状态"] '
    '[:tag {:color "green"} "active"]]] [:table [:tr [:th "company_id"] [:th "revenue"]] '
    '[:tr [:td "C001"] [:td "1200000"]]]]'
)

FRAMES = (
    (0.0, '[:page [:h1 "企业收入排行"] [:p "数据来自企业财务表"]]'),
    (9.5, FILTERS),
    (21.0, '```clojure\n[:page [:h2 "结果"] [:p "用 company_id 换成企业名称"]]\n```'),
)

SPEECH = (
    (0.4, 4.2, "这里看的是企业的营业收入。"),
    (4.6, 9.0, "财务表里收入的单位是元，不是万元。"),
    (10.1, 15.3, "先把年度选成二零二五年，状态只留 active。"),
    (15.9, 20.2, "停业的企业也有收入，记得去掉。"),
    (21.5, 26.8, "最后用企业编号到企业档案里查名称，再按收入排序。"),
)


def companies() -> list[dict[str, Any]]:
    """30 company profiles."""
    return [
        {
            "company_id": f"C{n + 1:03d}",
            "company_name": f"{CITIES[n % 6]}{WORDS[n % 10]}{TRADES[n % 5]}有限公司",
            "city": CITIES[n % 6],
            "trade": TRADES[n % 5],
            "founded": 1990 + (n * 7) % 33,
        }
        for n in range(30)
    ]


def financials() -> list[tuple[str, float, int, str]]:
    """Revenue in yuan of the 30 companies: 2025 of all, 2024 of the first six."""
    rows = [("C001", 1_200_000.0, 2025, "active"), ("C002", 980_000.0, 2025, "inactive")]
    for n in range(2, 30):
        revenue = 400_000.0 + (n * 137_911) % 1_600_000
        rows.append((f"C{n + 1:03d}", revenue, 2025, "inactive" if n % 4 == 1 else "active"))
    rows += [(f"C{n + 1:03d}", 700_000.0 + n * 91_300, 2024, "active") for n in range(6)]
    return rows


def attendance() -> list[tuple[int, str, str, float]]:
    """Three days of ten employees."""
    return [
        (
            1001 + n,
            f"2025-01-0{day}",
            f"0{8 + n % 2}:{(n * 7 + day * 3) % 60:02d}",
            7.5 + n % 3 * 0.5,
        )
        for day in (2, 3, 6)
        for n in range(10)
    ]


def rules() -> list[tuple[str, str, str]]:
    """Rows as preparing a document of rules would leave them."""
    return [
        ("R01", "收入确认", "营业收入按会计年度确认，单位为元。"),
        ("R02", "经营状态", "停业满六个月的企业，状态记为 inactive。"),
        ("R03", "企业名称", "对外报送时使用企业档案中的全称。"),
        ("R04", "排名", "收入相同的企业按企业编号排列。"),
    ]


def video() -> dict[str, Any]:
    """What preprocessing leaves of a short briefing video."""
    paths = [f"frames/{n:04d}.png" for n in range(len(FRAMES))]
    ends = [t for t, _ in FRAMES[1:]] + [27.0]
    frames = [
        {"index": n, "t": t, "path": path, "burst_start": t, "burst_end": end}
        for n, ((t, _), path, end) in enumerate(zip(FRAMES, paths, ends, strict=True))
    ]
    return {
        "video": "context/video/briefing.mp4",
        "language": "zh",
        "initial_prompt": "企业, 营业收入, company_id",
        "frames": frames,
        "transcript": {"segments": [{"start": s, "end": e, "text": t} for s, e, t in SPEECH]},
        "hiccup": {path: text for path, (_, text) in zip(paths, FRAMES, strict=True)},
    }


def write_json(path: Path, data: Any) -> None:
    """Two spaces, Chinese as it is, a line break at the end."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(data, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")


def write_csv(path: Path, header: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Comma and CRLF, as the contest's files have it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(header)
        writer.writerows(rows)


def write_sqlite(path: Path, create: str, insert: str, rows: Iterable[Sequence[Any]]) -> None:
    """One table in a new file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    with closing(sqlite3.connect(path)) as con:
        con.execute(create)
        con.executemany(insert, rows)
        con.commit()


def make(folder: Path) -> None:
    """Write the whole task folder."""
    context = folder / "context"
    write_json(folder / "task.json", TASK)
    write_csv(
        context / "csv" / "company_financials.csv",
        ("company_id", "revenue", "year", "status"),
        financials(),
    )
    wrapped = {"table": "company_profile", "records": companies()}
    write_json(context / "json" / "company_profile.json", wrapped)
    write_sqlite(
        context / "db" / "hr.db",
        "CREATE TABLE employee_attendance (employee_id INTEGER NOT NULL, day DATE NOT NULL,"
        " clock_in TEXT, hours REAL, PRIMARY KEY (employee_id, day))",
        "INSERT INTO employee_attendance VALUES (?, ?, ?, ?)",
        attendance(),
    )
    write_sqlite(
        context / "db" / "_doc_extracted.db",
        "CREATE TABLE doc_company_rules (rule_id TEXT PRIMARY KEY, topic TEXT, rule TEXT)",
        "INSERT INTO doc_company_rules VALUES (?, ?, ?)",
        rules(),
    )
    (context / "knowledge.md").write_text(KNOWLEDGE, encoding="utf-8")
    write_json(folder / "workdir" / "_video_frames" / "video_input.json", video())


if __name__ == "__main__":
    default = Path(__file__).resolve().parents[2] / "examples" / "task_15"
    make(Path(sys.argv[1]) if len(sys.argv) > 1 else default)
