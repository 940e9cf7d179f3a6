"""The command line, run as a person runs it."""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import NamedTuple

__all__ = ["Done", "evalnb", "start_evalnb"]


class Done(NamedTuple):
    """How a command ended and what it said."""

    code: int
    out: str
    error: str


def evalnb(*arguments: str | Path, folder: Path, **environment: str) -> Done:
    """Run `evalnb` in a folder, outside of CI unless `CI` is given, without any key."""
    server = _server()
    assert server.stdin
    assert server.stdout
    with tempfile.TemporaryDirectory() as kept:
        out, error = Path(kept, "out"), Path(kept, "error")
        asked = {
            "arguments": [str(argument) for argument in arguments],
            "folder": str(folder),
            "environment": _environment(environment),
            "out": str(out),
            "error": str(error),
        }
        server.stdin.write(f"{json.dumps(asked)}\n")
        server.stdin.flush()
        code = int(server.stdout.readline())
        return Done(code, out.read_text("utf-8"), error.read_text("utf-8"))


def start_evalnb(*arguments: str | Path, folder: Path, **environment: str) -> subprocess.Popen[str]:
    """Start such a command and go on; it is the caller's to end."""
    return subprocess.Popen(
        [sys.executable, "-m", "evalnb", *map(str, arguments)],
        cwd=folder,
        env=_environment(environment),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def _environment(given: dict[str, str]) -> dict[str, str]:
    inherited = {
        name: value
        for name, value in os.environ.items()
        if name != "CI" and not name.startswith(("ANTHROPIC_", "EVALNB_"))
    }
    return inherited | {"COLUMNS": "200", **given}


@cache
def _server() -> subprocess.Popen[str]:
    """Start the process whose forks the commands are; it ends with this one."""
    server = subprocess.Popen(
        [sys.executable, "-m", "tests.command_server"],
        cwd=Path(__file__).parent.parent,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    atexit.register(server.communicate)
    return server
