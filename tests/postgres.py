"""A real PostgreSQL that tests start, kill and start again; skipped where it is not installed."""

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import create_engine, text

from tests.conftest import skip


class Postgres:
    """A server of our own in a temporary folder; PostgreSQL will not run as root, so root borrows its user."""

    def __init__(self, programs: Path) -> None:
        self._programs = programs
        self._user = "postgres" if os.geteuid() == 0 else None
        self.folder = Path(tempfile.mkdtemp(prefix="heartfelt-pg-"))
        if self._user:
            owner = pwd.getpwnam(self._user)
            os.chown(self.folder, owner.pw_uid, owner.pw_gid)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self._port = free.getsockname()[1]
        self._run(
            "initdb", "-D", f"{self.folder}/data", "-U", "heartfelt", "-A", "trust", "-E", "UTF8", "--no-sync"
        )
        self.start()

    @property
    def url(self) -> str:
        return f"postgresql://heartfelt@127.0.0.1:{self._port}/postgres"

    def start(self) -> None:
        options = f"-p {self._port} -k {self.folder} -c listen_addresses=127.0.0.1 -c fsync=off"
        self._run(
            "pg_ctl", "-D", f"{self.folder}/data", "-w", "-o", options, "-l", f"{self.folder}/log", "start"
        )

    def kill(self) -> None:
        self._run("pg_ctl", "-D", f"{self.folder}/data", "-m", "immediate", "-w", "stop")

    def _run(self, program: str, *arguments: str) -> None:
        command = [str(self._programs / program), *arguments]
        borrowed = ["runuser", "-u", self._user, "--", *command] if self._user else command
        done = subprocess.run(
            borrowed,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            cwd="/",
            text=True,
        )
        assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def postgres() -> Iterator[Postgres]:
    found = sorted(map(str, Path("/usr/lib/postgresql").glob("*/bin/initdb"))) or [
        shutil.which("initdb") or ""
    ]
    if not found[-1]:
        skip("needs PostgreSQL: apt-get install postgresql")
    pytest.importorskip("psycopg", reason="pip install 'heartfelt[postgres]'")
    server = Postgres(Path(found[-1]).parent)
    yield server
    server.kill()
    shutil.rmtree(server.folder, ignore_errors=True)


def emptied(server: Postgres) -> str:
    """Its URL, with nothing in it."""
    engine = create_engine(server.url.replace("://", "+psycopg://"))
    with engine.begin() as connection:
        connection.execute(text("DROP SCHEMA public CASCADE"))
        connection.execute(text("CREATE SCHEMA public"))
    engine.dispose()
    return server.url
