"""A real PostgreSQL on loopback, in a folder of its own, for as long as a test needs it."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.requirements import require

if TYPE_CHECKING:
    from collections.abc import Iterator

_USER = "evalnb"
_PASSWORD = "only-for-tests"


@contextmanager
def postgres() -> Iterator[str]:
    """Yield the URL of a new, empty server; it and its data are gone afterwards."""
    programs = _programs()
    require(programs is not None, "PostgreSQL is not installed")
    assert programs is not None
    # PostgreSQL refuses to run as root, and its folder must be its user's own.
    as_user = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
    folder = Path(tempfile.mkdtemp(prefix="evalnb-postgres-"))
    try:
        if as_user:
            shutil.chown(folder, "postgres")
        secret = folder / "password"
        secret.write_text(_PASSWORD)
        secret.chmod(0o644)
        data, port = folder / "data", _free_port()
        quiet: dict[str, Any] = {"check": True, "capture_output": True, "cwd": folder}
        make: list[Any] = [programs / "initdb", "-D", data, "-U", _USER, "--auth=scram-sha-256"]
        subprocess.run([*as_user, *make, f"--pwfile={secret}", "--no-sync"], **quiet)
        options = f"-c listen_addresses=127.0.0.1 -p {port} -c unix_socket_directories={folder}"
        control: list[Any] = [*as_user, programs / "pg_ctl", "-D", data, "-w"]
        log = folder / "log"
        start: list[Any] = ["-o", options, "-l", log, "-t", "60", "start"]
        subprocess.run([*control, *start], check=True, cwd=folder, stdout=subprocess.DEVNULL)
        try:
            yield f"postgresql+psycopg://{_USER}:{_PASSWORD}@127.0.0.1:{port}/postgres"
        finally:
            subprocess.run([*control, "-m", "immediate", "stop"], **quiet)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _programs() -> Path | None:
    """Return the folder of `initdb` and `pg_ctl`; Debian keeps them off the path."""
    on_path = shutil.which("initdb")
    if on_path and shutil.which("pg_ctl"):
        return Path(on_path).parent
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/pg_ctl"))
    return found[-1].parent if found else None


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
