"""A running server of the tests, and how it is reached."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

PASSWORD = "s3cret-päss:w@rd/"


@dataclass
class Running:
    """One server: how to reach it as its superuser, and as whom else."""

    kind: str
    port: int
    folder: Path
    superuser: str
    passwords: dict[str, str] = field(default_factory=dict)

    def url(self, user=None, database="shop", password=False):
        """The URL of a user, without a password unless one is asked for."""
        from urllib.parse import quote

        user = user or self.superuser
        secret = f":{quote(self.passwords.get(user, PASSWORD), safe='')}" if password else ""
        return f"{self.kind}://{user}{secret}@127.0.0.1:{self.port}/{database}"

    def run(self, *statements, database="shop"):
        """Run statements as the superuser, past everything under test."""
        con = self.connect(database)
        try:
            found = []
            for statement in statements:
                cursor = con.cursor()
                cursor.execute(statement)
                found = cursor.fetchall() if cursor.description else []
            return found
        finally:
            con.close()

    def connect(self, database="shop"):
        """A connection of the superuser that commits each statement."""
        if self.kind == "postgresql":
            import psycopg

            return psycopg.connect(
                host="127.0.0.1",
                port=self.port,
                user=self.superuser,
                password=PASSWORD,
                dbname=database,
                autocommit=True,
            )
        import pymysql

        return pymysql.connect(
            host="127.0.0.1",
            port=self.port,
            user=self.superuser,
            password=PASSWORD.encode(),
            database=database,
            autocommit=True,
            charset="utf8mb4",
        )
