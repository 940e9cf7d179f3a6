"""The command line, run as a person runs it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

__all__ = ["Done", "evalnb"]


class Done(NamedTuple):
    """How a command ended and what it said."""

    code: int
    out: str
    error: str


def evalnb(*arguments: str | Path, folder: Path, **environment: str) -> Done:
    """Run `evalnb` in a folder, outside of CI unless `CI` is given, without any key."""
    inherited = {
        name: value
        for name, value in os.environ.items()
        if name != "CI" and not name.startswith(("ANTHROPIC_", "EVALNB_"))
    }
    done = subprocess.run(
        [sys.executable, "-m", "evalnb", *map(str, arguments)],
        cwd=folder,
        env=inherited | {"COLUMNS": "200", **environment},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    return Done(done.returncode, done.stdout, done.stderr)
