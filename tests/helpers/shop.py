"""The data of the tests, for either server: as its own SQL, and who may read what."""

from __future__ import annotations

READER = "reader"

POSTGRES = """
CREATE TYPE mood AS ENUM ('sad', 'ok');
CREATE SCHEMA hr;
CREATE TABLE customers (id serial PRIMARY KEY, "Full Name" varchar(50) NOT NULL, email text UNIQUE,
  born date, balance numeric(10,2), score double precision, ok boolean, tags text[], meta jsonb,
  m mood, raw bytea, at timestamptz, twice int GENERATED ALWAYS AS (1 * 2) STORED);
COMMENT ON TABLE customers IS 'People who buy';
COMMENT ON COLUMN customers.email IS 'their address';
INSERT INTO customers ("Full Name", email, born, balance, score, ok, tags, meta, m, raw, at)
  SELECT 'N ' || i, 'e' || i || '@x', '2000-01-01'::date + i, i * 1.5, i / 4.0, i % 2 = 0,
  array['a', 'b'], '{"k": 1}', 'ok', 'a'::bytea || '\\x00'::bytea, '2024-01-02 03:04:05+00'
  FROM generate_series(1, 500) i;
CREATE TABLE orders (id int PRIMARY KEY, customer_id int REFERENCES customers (id), total real, note text);
INSERT INTO orders SELECT i, i % 500 + 1, i * 1.5, repeat('x', 300) FROM generate_series(1, 2000) i;
CREATE TABLE hr.orders (id int UNIQUE, a int, b int, PRIMARY KEY (a, b));
CREATE TABLE hr.lines (a int, b int, o int REFERENCES public.orders (id),
  FOREIGN KEY (a, b) REFERENCES hr.orders (a, b));
CREATE VIEW big AS SELECT o.id, o.total, c.email FROM orders o JOIN customers c ON c.id = o.customer_id;
CREATE TABLE part (id int, d date) PARTITION BY RANGE (d);
CREATE TABLE part1 PARTITION OF part FOR VALUES FROM ('2020-01-01') TO ('2021-01-01');
CREATE TABLE secret (x text); INSERT INTO secret VALUES ('the-marker-in-secret');
CREATE TABLE empty_one (); CREATE TABLE "odd ""name;--" ("co""l" int);
CREATE ROLE reader LOGIN PASSWORD '{password}'; GRANT USAGE ON SCHEMA hr TO reader;
GRANT SELECT ON customers, orders, hr.lines, big TO reader; GRANT SELECT (a) ON hr.orders TO reader;
CREATE ROLE plain LOGIN PASSWORD '{password}'; GRANT SELECT ON customers TO plain;
CREATE ROLE writer LOGIN PASSWORD '{password}'; GRANT SELECT, INSERT ON orders TO writer;
ANALYZE customers; ANALYZE orders
"""

MARIADB = """
CREATE TABLE customers (id int unsigned AUTO_INCREMENT PRIMARY KEY COMMENT 'the id',
  `Full Name` varchar(50) NOT NULL, email varchar(100) UNIQUE, born date, balance decimal(10,2),
  score double, ok tinyint(1), m enum('sad','ok'), raw varbinary(20), at timestamp NULL, y year,
  meta json, b bit(3), t time, twice int GENERATED ALWAYS AS (1 * 2) STORED) COMMENT 'People who buy';
INSERT INTO customers (`Full Name`, email, born, balance, score, ok, m, raw, at, y, meta, b, t)
  SELECT concat('N ', seq), concat('e', seq, '@x'), date_add('2000-01-01', INTERVAL seq DAY),
  seq * 1.5, seq / 4e0, seq % 2 = 0, 'ok', 'a\\0', '2024-01-02 03:04:05', 2024, '{"k": 1}', b'101',
  '10:11:12' FROM seq_1_to_500;
CREATE TABLE orders (id bigint PRIMARY KEY, customer_id int unsigned, total float, note text,
  FOREIGN KEY (customer_id) REFERENCES customers (id));
INSERT INTO orders SELECT seq, seq % 500 + 1, seq * 1.5, repeat('x', 300) FROM seq_1_to_2000;
CREATE VIEW big AS SELECT o.id, o.total, c.email FROM orders o JOIN customers c ON c.id = o.customer_id;
CREATE TABLE secret (x text); INSERT INTO secret VALUES ('the-marker-in-secret');
CREATE TABLE `odd ``name;--` (`co``l` int);
CREATE FUNCTION abs_of(x int) RETURNS int RETURN abs(x);
CREATE USER reader@'127.0.0.1' IDENTIFIED BY '{password}';
GRANT SELECT ON shop.customers TO reader@'127.0.0.1'; GRANT SELECT ON shop.big TO reader@'127.0.0.1';
GRANT SELECT ON shop.orders TO reader@'127.0.0.1'; GRANT INSERT ON shop.secret TO reader@'127.0.0.1';
CREATE USER plain@'127.0.0.1' IDENTIFIED BY '{password}'; GRANT SELECT ON shop.customers TO plain@'127.0.0.1';
ANALYZE TABLE customers, orders
"""


def fill(server):
    """Make the tables, the users and what they may read."""
    from tests.helpers.servers import PASSWORD

    text = POSTGRES if server.kind == "postgresql" else MARIADB
    statements = [
        part for part in text.replace("{password}", PASSWORD).split(";\n") if part.strip()
    ]
    for statement in statements:
        if server.kind == "postgresql":
            server.run(statement)
        else:
            server.run(*_apart(statement))


def _apart(statement):
    """MariaDB's driver sends one statement at a time; only GRANT and CREATE stand side by side."""
    import re

    return [
        part
        for part in re.split(r";\s+(?=GRANT |CREATE USER |INSERT INTO secret)", statement)
        if part.strip()
    ]
