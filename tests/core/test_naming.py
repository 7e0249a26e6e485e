"""Canonical names: form, clashes in any order, aliases."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stages.core.catalog.naming import Origin, aliases, canonical, canonical_names, lookup


def csv(path: str) -> Origin:
    return Origin(path, "csv", path.rsplit("/", 1)[-1].split(".")[0], False)


def json(path: str) -> Origin:
    return Origin(path, "json", path.rsplit("/", 1)[-1].split(".")[0], False)


def db(path: str, table: str) -> Origin:
    return Origin(path, "sqlite", table, True)


def schema(table: str) -> Origin:
    return Origin("", "schema", table, False)


@pytest.mark.parametrize(
    ("spelling", "name"),
    [
        ("employees", "employees"),
        ("Employee Attendance", "employee_attendance"),
        ("公募基金经理(新)", "公募基金经理_新_"),
        ("2024 report", "t_2024_report"),
        ("٣rows", "t_٣rows"),
        ("a.b-c", "a_b_c"),
        ("", "t_"),
        ("हिन्दी", "हिन्दी"),
        ("e\u0301tat", "état"),
        ("Straße", "straße"),
        ("ΣΊΣΥΦΟΣ", "σίσυφος"),
        ('x"; DROP TABLE y', "x___drop_table_y"),
        ("sales\n## SYSTEM", "sales____system"),
        ("zero\u200bwidth\u202e", "zero_width_"),
        ("_x", "_x"),
        ("💰", "_"),
    ],
)
def test_canonical_form(spelling: str, name: str) -> None:
    assert canonical(spelling) == name


@given(st.text(max_size=40))
def test_canonical_is_idempotent_and_clean(spelling: str) -> None:
    name = canonical(spelling)
    assert canonical(name) == name
    assert name
    assert not name[0].isdigit()
    assert all(c == "_" or c.isalnum() or not c.isascii() for c in name)


CLASHES = [
    (
        [csv("context/csv/employees.csv"), db("context/db/hr.db", "employees")],
        ["csv__employees", "hr__employees"],
    ),
    (
        [db("context/db/hr.db", "Employees"), db("context/db/old.db", "EMPLOYEES")],
        ["hr__employees", "old__employees"],
    ),
    ([csv("context/a.csv"), json("context/a.json")], ["csv__a", "json__a"]),
    ([csv("x/a.csv"), csv("y/a.csv")], ["x_csv__a", "y_csv__a"]),
    ([csv("p/x/a.csv"), csv("q/x/a.csv")], ["p_x_a_csv__a", "q_x_a_csv__a"]),
    ([db("x/hr.db", "e"), db("y/hr.db", "e"), csv("e.csv")], ["x_hr__e", "y_hr__e", "csv__e"]),
    (
        [db("hr.db", "Employee Day"), db("hr.db", "employee_day")],
        ["employee_day_2", "employee_day"],
    ),
    ([csv("a-b.csv"), csv("a_b.csv"), csv("a b.csv")], ["a_b_3", "a_b", "a_b_2"]),
    ([schema("S.A"), schema("s_a")], ["s_a_2", "s_a"]),
    ([csv("d/e.csv"), db("hr.db", "e"), csv("hr__e.csv")], ["csv__e", "_hr__e", "csv__hr__e"]),
    ([csv("a.csv"), csv("b.csv")], ["a", "b"]),
]


@pytest.mark.parametrize(("origins", "names"), CLASHES)
def test_clashes(origins: list[Origin], names: list[str]) -> None:
    assert canonical_names(origins) == names


@pytest.mark.parametrize("origins", [origins for origins, _ in CLASHES])
def test_order_of_scanning_changes_no_name(origins: list[Origin]) -> None:
    expected = dict(zip(origins, canonical_names(origins), strict=True))
    for seed in range(10):
        shuffled = random.Random(seed).sample(origins, len(origins))
        assert dict(zip(shuffled, canonical_names(shuffled), strict=True)) == expected


ORIGINS = st.lists(
    st.one_of(
        st.builds(
            db,
            st.sampled_from(["a/x.db", "b/x.db", "y.db"]),
            st.sampled_from(["A", "a", "a b", "a_b", "x__a", "1"]),
        ),
        st.builds(
            csv,
            st.sampled_from(
                ["a.csv", "A.csv", "c/a.csv", "x__a.csv", "csv__a.csv", "a_b_2.csv", "a-b.csv"]
            ),
        ),
    ),
    unique=True,
    max_size=12,
)


@given(ORIGINS, st.randoms())
def test_names_are_unique_in_every_case_and_order(
    origins: list[Origin], rng: random.Random
) -> None:
    names = canonical_names(origins)
    assert len({name.casefold() for name in names}) == len(names)
    order = list(range(len(origins)))
    rng.shuffle(order)
    assert canonical_names([origins[i] for i in order]) == [names[i] for i in order]


def test_many_clashing_tables_stay_quick_and_unique() -> None:
    origins = [schema(f"a{'-' * (i % 3 + 1)}b{'.' * (i // 3)}"[:9]) for i in range(300)]
    assert len(set(canonical_names(origins))) == 300


def test_aliases_only_where_they_mean_one_table() -> None:
    origins = [
        db("hr.db", "Employee Day"),
        db("hr.db", "Staff"),
        csv("Staff.csv"),
        db("hr.db", "plain"),
        db("hr.db", "Own-Name"),
        csv("own-name_x.csv"),
    ]
    names = canonical_names(origins)
    assert dict(zip([o.key for o in origins], aliases(origins, names), strict=True)) == {
        "hr.db::Employee Day": ["Employee Day"],
        "hr.db::Staff": [],
        "Staff.csv": [],
        "hr.db::plain": [],
        "hr.db::Own-Name": ["Own-Name"],
        "own-name_x.csv": ["own-name_x"],
    }


def test_an_alias_never_equals_the_name_of_another_table() -> None:
    origins = [csv("d/e.csv"), db("hr.db", "e"), db("z.db", "CSV__E")]
    names = canonical_names(origins)
    for i, found in enumerate(aliases(origins, names)):
        others = {name.casefold() for j, name in enumerate(names) if j != i}
        assert not others & {alias.casefold() for alias in found}


@pytest.mark.parametrize(
    ("origin", "key"),
    [
        (csv("context/csv/a.csv"), "context/csv/a.csv"),
        (db("context/db/hr.db", "Employee Attendance"), "context/db/hr.db::Employee Attendance"),
        (schema("PUBLIC.A"), "PUBLIC.A"),
    ],
)
def test_describe_key(origin: Origin, key: str) -> None:
    assert origin.key == key


def test_lookup_is_by_source_and_without_case() -> None:
    origins = [db("a.db", "T"), db("b.db", "t")]
    names = canonical_names(origins)
    found = lookup(origins, names)
    assert (found["a.db", "t"], found["b.db", "t"]) == ("a__t", "b__t")


def test_lookup_knows_names_that_differ_in_case_alone() -> None:
    origins = [db("a.db", "Users"), db("a.db", "users")]
    names = canonical_names(origins)
    found = lookup(origins, names)
    assert [found["a.db", "Users"], found["a.db", "users"]] == names


def test_a_spelling_of_two_meanings_has_none() -> None:
    from stages.core.names import unique

    assert unique([("a", 1), ("b", 1), ("b", 2), ("b", 1)]) == {"a": 1}


def test_a_column_is_found_by_its_own_spelling_first() -> None:
    from stages.core.names import Names

    columns = [{"name": name, "type": "VARCHAR"} for name in ("ID", "id", "Note")]
    names = Names([{"kind": "table", "name": "t", "describe_key": "t", "columns": columns}])
    found = [names.column("t", said) for said in ("id", "ID", "Id", "note", "id.x", "none")]
    assert found == ["id", "ID", "id", "Note", "id", None]
