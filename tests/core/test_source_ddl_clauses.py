"""DDL with clauses that no parser knows: the table, its columns and its keys are there all the same."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stages.core.catalog.schema_only import ddl
from stages.core.catalog.source_table import ScanOptions

SSMS = """CREATE TABLE [dbo].[Order Details](
\t[OrderID] [int] NOT NULL,
\t[Notes] [nvarchar](max) NULL,
\t[Sum]  AS ([Price]*[Qty]) PERSISTED,
\t[Price] [decimal](18, 2) SPARSE NULL,
 CONSTRAINT [PK_OD] PRIMARY KEY CLUSTERED
(
\t[OrderID] ASC
)WITH (PAD_INDEX = OFF, STATISTICS_NORECOMPUTE = OFF) ON [PRIMARY]
) ON [PRIMARY] TEXTIMAGE_ON [PRIMARY]
GO
"""

TABLES = [
    ("CREATE TABLE flags (id int primary key, b bit varying(5))", "id b", "id"),
    (
        ("CREATE TABLE hits (id UInt64 CODEC(Delta, LZ4), d Date, s LowCardinality(Nullable(String)) TTL d,"
        " INDEX i s TYPE minmax GRANULARITY 4, PROJECTION p (SELECT id ORDER BY d))"
        " ENGINE = ReplicatedMergeTree('/x', '{r}') PARTITION BY toYYYYMM(d) ORDER BY (id, d) SETTINGS index_granularity = 8192"),
        "id d s",
        "",
    ),
    (
        ("CREATE TABLE db.hits ON CLUSTER '{c}' (id UInt64, m Map(String, UInt8), e Enum8('a,b' = 1, 'c' = 2) DEFAULT 'c',"
        " n Nested(a String, b UInt8)) ENGINE = Distributed(c, db, t, rand())"),
        "id m e n",
        "",
    ),
    (
        ('CREATE TABLE "S"."T" ("ID" INTEGER NOT NULL GENERATED ALWAYS AS IDENTITY (START WITH +1 INCREMENT BY +1),'
        ' "X" CHAR(5) FOR BIT DATA, "Y" DECFLOAT(16), "Z" CLOB(1M) INLINE LENGTH 100 LOGGED, PRIMARY KEY ("ID"))'
        ' IN "USERSPACE1" INDEX IN "IDX" ORGANIZE BY ROW COMPRESS YES ADAPTIVE'),
        "ID X Y Z",
        "ID",
    ),
    (
        "CREATE TABLE `v` (`x` int(11) DEFAULT NULL) ENGINE=InnoDB WITH SYSTEM VERSIONING",
        "x",
        "",
    ),
    (
        ("CREATE TABLE v (x int, s timestamp(6) GENERATED ALWAYS AS ROW START, e timestamp(6) GENERATED ALWAYS AS ROW END,"
        " PERIOD FOR SYSTEM_TIME (s, e), PRIMARY KEY (x, e)) WITH SYSTEM VERSIONING PARTITION BY SYSTEM_TIME"),
        "x s e",
        "x e",
    ),
    ("CREATE TABLE log (id int) PARTITION BY HASH(id) PARTITIONS 4", "id", ""),
    ("CREATE TABLE log (id int PRIMARY KEY) PARTITION BY KEY() PARTITIONS 2", "id", "id"),
    (
        ("CREATE TABLE log (id int, y int, KEY `k` (`y`), KEY x ((y + 1)), FULLTEXT KEY f (id) WITH PARSER ngram) ENGINE=InnoDB\n"
        "/*!50100 PARTITION BY LIST COLUMNS(y)\n(PARTITION p0 VALUES IN (1,2) ENGINE = InnoDB) */"),
        "id y",
        "",
    ),
    (
        ("CREATE TABLE `shops` (`id` int NOT NULL, `loc` point NOT NULL /*!80003 SRID 4326 */, `v` vector(3),"
        " `g` geometry INVISIBLE, PRIMARY KEY (`id`) USING BTREE, SPATIAL KEY `s` (`loc`)) ENGINE=InnoDB"),
        "id loc v g",
        "id",
    ),
    (
        ('CREATE TABLE "HR"."EMP" ("EMPNO" NUMBER(4,0) NOT NULL ENABLE, "ENAME" VARCHAR2(10 BYTE), "D" TIMESTAMP (6)'
        ' WITH LOCAL TIME ZONE, "R" LONG RAW, CONSTRAINT "PK" PRIMARY KEY ("EMPNO") USING INDEX PCTFREE 10 TABLESPACE "USERS"'
        ' ENABLE, SUPPLEMENTAL LOG DATA (ALL) COLUMNS) SEGMENT CREATION IMMEDIATE PCTFREE 10 STORAGE(INITIAL 65536)'
        ' TABLESPACE "USERS" LOB ("R") STORE AS SECUREFILE (ENABLE STORAGE IN ROW)'),
        "EMPNO ENAME D R",
        "EMPNO",
    ),
    ("create table a (k text primary key, v int) without rowid", "k v", "k"),
    (
        "create table c (k integer primary key on conflict replace, v text unique on conflict ignore, w) strict",
        "k v w",
        "k",
    ),
    (SSMS, "OrderID Notes Sum Price", "OrderID"),
    (
        ("CREATE TABLE items (id bigserial PRIMARY KEY, embedding public.vector(1536) NOT NULL, g public.geometry(Point,4326),"
        " c citext COLLATE \"C\" STORAGE EXTERNAL, EXCLUDE USING gist (g WITH &&)) PARTITION BY HASH (id) WITH (fillfactor=70)"),
        "id embedding g c",
        "id",
    ),
    (
        ("CREATE MULTISET VOLATILE TABLE db.t, NO FALLBACK, CHECKSUM = DEFAULT (id INTEGER FORMAT 'ZZZ9', n VARCHAR(9)"
        " CHARACTER SET LATIN NOT CASESPECIFIC COMPRESS ('a','b')) UNIQUE PRIMARY INDEX (id) ON COMMIT PRESERVE ROWS"),
        "id n",
        "",
    ),
    (
        ("CREATE TABLE Albums (SingerId INT64 NOT NULL, Title STRING(MAX), T TOKENLIST AS (TOKENIZE_FULLTEXT(Title)) HIDDEN)"
        " PRIMARY KEY (SingerId DESC), INTERLEAVE IN PARENT Singers ON DELETE CASCADE"),
        "SingerId Title T",
        "SingerId",
    ),
    (
        "CREATE TABLE t (id int NOT NULL, ts timestamp ENCODE az64, k varchar(10) DISTKEY SORTKEY) DISTSTYLE KEY COMPOUND SORTKEY (id, ts)",
        "id ts k",
        "",
    ),
    (
        ("CREATE HYBRID TABLE t (id INT AUTOINCREMENT START 1 INCREMENT 1 NOORDER, v VARIANT WITH MASKING POLICY p USING (v),"
        " PRIMARY KEY (id), INDEX ix (v) INCLUDE (id)) CLUSTER BY (id) DATA_RETENTION_TIME_IN_DAYS = 1"),
        "id v",
        "id",
    ),
    (
        ("CREATE TABLE crdb (id UUID NOT NULL DEFAULT gen_random_uuid(), s STRING NULL, CONSTRAINT p PRIMARY KEY (id ASC)"
        " USING HASH WITH (bucket_count=8), INDEX i (s ASC) STORING (id), FAMILY f (id, s)) LOCALITY REGIONAL BY ROW"),
        "id s",
        "id",
    ),
    ("CREATE TABLE t (key text PRIMARY KEY, index int, \"check\" int, period text, comment text)", "key index check period comment", "key"),
    ("CREATE TABLE k (`key` varchar(10), `a,b` int, `c``d` int)", "key a,b c`d", ""),
    ("CREATE TABLE k (a ARRAY<STRUCT<x: INT, y: STRING>>, m MAP<STRING, INT>, b INT) STORED BY 'x' WITH SERDEPROPERTIES ('a,'='b')", "a m b", ""),
    ("CREATE TABLE w (a int, b text /* first, second */, -- third, fourth\n c int ???) NOBODY KNOWS (THIS, ONE)", "a b c", ""),
    ("CREATE TABLE x (a int, b int", "a b", ""),
    ("CREATE VIRTUAL TABLE docs USING fts5(title, body, content='x', tokenize = 'porter ascii')", "title body", ""),
    ("CREATE TABLE t (id INT, v STRING) USING ICEBERG PARTITIONED BY (bucket(16, id), days(v)) TBLPROPERTIES ('a'='b')", "id v", ""),
    ("CREATE TABLE t (id INT) UNIQUE KEY(id) DISTRIBUTED BY HASH(id) BUCKETS AUTO PROPERTIES ('replication_num' = '1')", "id", ""),
]  # fmt: skip


def tables(text: str, **options):
    script = ddl.read(text, **options)
    return {raw.name: raw for _, raw in script.tables.values()}, script


@pytest.mark.parametrize(("text", "columns", "key"), TABLES, ids=range(len(TABLES)))
def test_an_unknown_clause_loses_no_table(text, columns, key):
    for script in (text, f"{text};\nCREATE TABLE after_it (a int);"):
        found, read = tables(script)
        raw = next(iter(found.values()))
        assert [column["name"] for column in raw.columns] == columns.split()
        assert raw.primary_key == key.split()
        assert not read.skipped
        if script != text and not text.endswith("b int"):
            assert "after_it" in found


@pytest.mark.parametrize(
    ("declared", "kind"),
    [
        ("bit varying(5)", "BIT"),
        ("[decimal](18, 2)", "DECIMAL(18,2)"),
        ("double precision ???", "DOUBLE"),
        ("UInt64 CODEC(Delta, LZ4) ???", "UBIGINT"),
        ("timestamp(6) without time zone ???", "TIMESTAMP"),
        ("bigint unsigned ???", "UBIGINT"),
        ("ARRAY<INT> ???", "INTEGER[]"),
    ],
)
def test_types_of_such_tables(declared, kind):
    found, _ = tables(f"CREATE TABLE t (a {declared} WHAT EVER, b UInt8 CODEC(X))")
    assert found["t"].columns[0]["type"] == kind


def test_keys_and_comments_of_such_tables():
    found, _ = tables(
        "CREATE TABLE s.a (x int PRIMARY KEY COMMENT 'it''s', y int NOT NULL REFERENCES s.b (z) ON DELETE CASCADE,"
        " u int UNIQUE ENABLE, CONSTRAINT f FOREIGN KEY (x, y) REFERENCES other.c (p, q) MATCH FULL NOBODY)"
        " COMMENT = 'words' WHAT EVER"
    )
    raw = found["a"]
    assert raw.comment == "words"
    assert raw.foreign_keys == [
        {"columns": ["x", "y"], "ref_table": "other.c", "ref_columns": ["p", "q"]},
        {"columns": ["y"], "ref_table": "b", "ref_columns": ["z"]},
    ]
    x, y, u = raw.columns
    assert (x["comment"], x["key"], y["nullable"], y["key"], u["key"]) == (
        "it's",
        "primary",
        False,
        "foreign",
        "unique",
    )


@pytest.mark.parametrize(
    "text",
    [
        "ALTER TABLE `a` ADD PRIMARY KEY (`x`), ADD KEY `k` (`y`), ADD CONSTRAINT `f` FOREIGN KEY (`y`) REFERENCES `b` (`z`) ON DELETE SET NULL, MODIFY `x` int(11) NOT NULL AUTO_INCREMENT, AUTO_INCREMENT=7",
        "ALTER TABLE a ADD CONSTRAINT p PRIMARY KEY (x) USING INDEX TABLESPACE u ENABLE;\nALTER TABLE a ADD CONSTRAINT f FOREIGN KEY (y) REFERENCES b (z) ENABLE NOVALIDATE",
        "ALTER TABLE [a] ADD CONSTRAINT [p] PRIMARY KEY NONCLUSTERED ([x] ASC) WITH (FILLFACTOR = 80) ON [PRIMARY]\nGO\nALTER TABLE [a]  WITH NOCHECK ADD  CONSTRAINT [f] FOREIGN KEY([y])\nREFERENCES [b] ([z]) NOT FOR REPLICATION\nGO\nALTER TABLE [a] CHECK CONSTRAINT [f]\nGO",
        "ALTER TABLE ONLY a ADD CONSTRAINT p PRIMARY KEY (x) INCLUDE (y) DEFERRABLE;ALTER TABLE a ADD FOREIGN KEY (y) REFERENCES b (z) NOT VALID NOBODY",
    ],
)
def test_keys_that_are_added_later(text):
    found, _ = tables(f"CREATE TABLE b (z int);\nCREATE TABLE a (x int, y int);\n{text};")
    assert found["a"].primary_key == ["x"]
    assert found["a"].foreign_keys == [{"columns": ["y"], "ref_table": "b", "ref_columns": ["z"]}]


@pytest.mark.parametrize(
    ("text", "name", "columns"),
    [
        ("CREATE EXTERNAL TABLE db1.logs (id BIGINT COMMENT 'x') PARTITIONED BY (dt STRING COMMENT 'day', hr INT) STORED AS PARQUET", "logs", "id dt hr"),
        ("CREATE TABLE t (id INT) USING delta PARTITIONED BY (id)", "t", "id"),
        ("CREATE TABLE t (id INT, PRIMARY KEY (id) NOT ENFORCED) PARTITIONED BY (d DATE) CLUSTERED BY (id) INTO 4 BUCKETS", "t", "id d"),
        ("CREATE TABLE c (extra int) INHERITS (p);CREATE TABLE p (id int, name text)", "c", "id name extra"),
        ("CREATE TABLE g (more int) INHERITS (c);CREATE TABLE c (extra int, id bigint) INHERITS (s.p, q);CREATE TABLE s.p (id int);CREATE TABLE q (z int)", "g", "id z extra more"),
        ("CREATE TABLE m (city int, d date) PARTITION BY RANGE (d);CREATE TABLE m_2020 PARTITION OF m FOR VALUES FROM ('2020-01-01') TO ('2021-01-01')", "m_2020", "city d"),
        ("CREATE TABLE m (city int, d date) PARTITION BY LIST (d);CREATE TABLE x PARTITION OF m (CONSTRAINT k CHECK (city > 1)) DEFAULT PARTITION BY HASH (city)", "x", "city d"),
        ("CREATE TABLE a (LIKE b INCLUDING ALL, more int);CREATE TABLE b (x int, y int)", "a", "x y more"),
        ("CREATE TABLE a LIKE db.b;CREATE TABLE db.b (x int, y int)", "a", "x y"),
        ("CREATE TABLE b (x int);CREATE TABLE a CLONE b", "a", "x"),
        ("CREATE TABLE a INHERITS (a)", "a", ""),
        ("CREATE TABLE a (x int) INHERITS (b);CREATE TABLE b (y int) INHERITS (a)", "a", "x y"),
        ("CREATE TABLE p (id int);CREATE TABLE c (id int, x int);ALTER TABLE c INHERIT p", "c", "id x"),
    ],
)  # fmt: skip
def test_columns_that_stand_elsewhere(text, name, columns):
    found, _ = tables(text)
    assert [column["name"] for column in found[name].columns] == columns.split()


ROWS = [
    "1\tMary O'Brien\n2\tLi \"Wei\n",
    "1\tAnn; CREATE TABLE x (a int);\n",
    "1\t/* never closed\n2\t$$ nor this\n3\t`\n",
    "CREATE TABLE x (a int);\tb\n",
    "ALTER TABLE a ADD y int;\n",
    "1\t-- '\n2\t\\\\.\n3\t\\N\n",
    "",
]


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
@pytest.mark.parametrize(
    "head", ["COPY a (x, n) FROM stdin;", "copy s.a from STDIN WITH (FORMAT text) ;"]
)
@pytest.mark.parametrize("rows", ROWS)
def test_rows_of_copy_are_no_statements(rows, head, ending):
    text = f"CREATE TABLE a (x int, n text);\n{head}\n{rows}\\.\n\nALTER TABLE ONLY a ADD CONSTRAINT p PRIMARY KEY (x);\n{head}\n{rows}\\.\nCREATE TABLE last (y int);\n"
    found, read = tables(text.replace("\n", ending))
    assert list(found) == ["a", "last"]
    assert found["a"].primary_key == ["x"]
    assert [column["name"] for column in found["a"].columns] == ["x", "n"]
    assert not read.skipped


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("INSERT INTO t VALUES ('C:\\');\nCREATE TABLE a (x int);", ["a"]),
        ("INSERT INTO t VALUES ('it\\'s; CREATE TABLE b (y int);');\nCREATE TABLE a (x int);", ["a"]),
        ("-- PostgreSQL database dump\nINSERT INTO t VALUES ('C:\\', 'x; CREATE TABLE b (y int);');\nCREATE TABLE a (x int);", ["a"]),
        ("SELECT E'it\\'s';\nCREATE TABLE a (x serial);", ["a"]),
        ("\\restrict abc'\n\\connect o'brien\nCREATE TABLE a (x int);", ["a"]),
        ("SET DEFINE OFF\nPROMPT Don't\nCREATE TABLE a (x int);\nCREATE TABLE b (x int);", ["a", "b"]),
        ("CREATE TABLE a (x int)\nCREATE TABLE b (x int)\n  create table c (x int)", ["a", "b", "c"]),
        ("IF OBJECT_ID('a') IS NULL\nBEGIN\nCREATE TABLE [dbo].[a](\n[x] [int] NULL)\nEND\nGO\nCREATE TABLE b (x int)", ["a", "b"]),
        ("CREATE PROCEDURE p AS\nBEGIN\nCREATE TABLE #t (a int);\nCREATE TABLE t2 (a int)\nEND\nGO\nCREATE TABLE a (x int)", ["a"]),
        ("DELIMITER ;;\nCREATE PROCEDURE p() BEGIN CREATE TABLE t (a int); SELECT 'x; y'; END ;;\nDELIMITER ;\nCREATE TABLE a (x int);", ["a"]),
        ("/*!50001 CREATE VIEW `v` AS SELECT 1 AS `x`*/;\n/*!50001 DROP VIEW IF EXISTS `v`*/;\n/*!50001 CREATE ALGORITHM=UNDEFINED */\n/*!50013 DEFINER=`r`@`%` SQL SECURITY DEFINER */\n/*!50001 VIEW `v` AS select `a`.`x` AS `x` from `a` */;\nCREATE TABLE `a` (`x` int) ENGINE=InnoDB;", ["v", "a"]),
        ("CREATE TYPE t AS TABLE (a int); CREATE INDEX i ON t (a); CREATE TABLE [Children's] (a int);\nCREATE TABLE b (x int)", ["Children's", "b"]),
    ],
)  # fmt: skip
def test_scripts_of_many_tools(text, names):
    found, _ = tables(text)
    assert list(found) == names
    assert all(raw.columns for raw in found.values())


@pytest.mark.parametrize(
    "blob", [b"\xff\xd8\xff\xe0", b"\x89PNG\x00\xfe\xff", bytes(range(128, 256)), b"\xe4\\'\xb8"]
)
def test_a_blob_tells_no_encoding(tmp_path, blob):
    path = tmp_path / "dump.sql"
    head = "CREATE TABLE `作者` (`姓名` varchar(50) COMMENT '作者姓名', `c` blob) ENGINE=InnoDB COMMENT='作者表';\n"
    rows = b"INSERT INTO `x` VALUES (1,_binary '" + blob * 3000 + b"');\n"
    path.write_bytes(head.encode() + rows + "CREATE TABLE `国家` (`é` int);".encode())
    result = ddl.catalog_of(path, ScanOptions())
    assert [table["name"] for table in result.tables] == ["作者", "国家"]
    assert result.tables[0]["comment"] == "作者表"
    assert "warnings" not in result.catalog


def test_an_encoding_that_is_a_guess_is_told(tmp_path):
    path = tmp_path / "dump.sql"
    path.write_bytes(
        "CREATE TABLE `作者` (`姓名` varchar(50) COMMENT '作者姓名');".encode("gb18030")
    )
    result = ddl.catalog_of(path, ScanOptions())
    assert result.tables[0]["name"] == "作者"
    assert result.catalog["warnings"] == ["not UTF-8; read as gb18030, a guess"]
    result = ddl.catalog_of(path, ScanOptions(encoding="gbk"))
    assert (result.tables[0]["name"], result.catalog.get("warnings")) == ("作者", None)


@given(st.sampled_from([text for text, _, _ in TABLES]), st.data())
@settings(max_examples=60, deadline=None)
def test_damaged_text_never_ends_in_a_traceback(text, data):
    for _ in range(data.draw(st.integers(1, 6))):
        at = data.draw(st.integers(0, len(text)))
        cut = data.draw(st.integers(0, 20))
        text = (
            text[:at] + data.draw(st.text("()'\"`[];,.<>\n\\$/* -", max_size=2)) + text[at + cut :]
        )
    ddl.read(text)


@pytest.mark.parametrize(
    "broken", ["ADD", "ADD COLUMN", "ADD (a INT, )", "ADD CONSTRAINT", "INHERIT"]
)
def test_a_statement_that_breaks_off_costs_no_table(broken: str, tmp_path: Path) -> None:
    path = tmp_path / "shop.sql"
    path.write_text(f"CREATE TABLE t (id INT);\nALTER TABLE t {broken};\nCREATE TABLE u (a INT);\n")
    found = ddl.catalog_of(path, ScanOptions())
    assert [table["name"] for table in found.tables] == ["t", "u"]
