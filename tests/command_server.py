"""Runs commands one after the other, each in a process of its own that has the imports done.

Started by `tests.commands`, which writes a line of JSON for each command and reads one with its
exit code. The processes are forks of this one: it has no other thread, and never ran a command.
"""

from __future__ import annotations

import json
import os
import runpy
import signal
import sys
from pathlib import Path
from typing import Any, NoReturn

_SECONDS = 300
"""After so long a command is ended by the alarm, whose number is then its exit code, negative."""


def serve() -> None:
    """Run what the lines of standard input ask for, until there are no more."""
    _import_what_commands_need()
    for line in sys.stdin:
        child = os.fork()
        if not child:
            _run(json.loads(line))
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


def _import_what_commands_need() -> None:
    import evalnb.cases
    import evalnb.cli
    import evalnb.evaluation
    import evalnb.judging
    import evalnb.notebooks
    import evalnb.reports
    import evalnb.results

    assert evalnb.cli
    evalnb.notebooks._papermill()


def _run(asked: dict[str, Any]) -> NoReturn:
    """Become the command: its folder, environment, files and arguments."""
    signal.alarm(_SECONDS)
    os.chdir(asked["folder"])
    os.environ.clear()
    os.environ.update(asked["environment"])
    for number, path in ((1, asked["out"]), (2, asked["error"])):
        os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    sys.argv = ["evalnb", *asked["arguments"]]
    sys.path[0] = str(Path.cwd())
    runpy.run_module("evalnb", run_name="__main__")
    sys.exit()


if __name__ == "__main__":
    serve()
