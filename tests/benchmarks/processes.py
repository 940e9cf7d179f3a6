"""Whole processes: the stand-in, and commands with what they took."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.request import Request, urlopen

from tests.benchmarks.suite_files import CONCURRENCY

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_ROOT = Path(__file__).parents[2]
_FINISHED = (0, 1, 2)
"""Exit codes that a run may have: the replies meet a part only, a first run has no baseline."""


@dataclass(frozen=True)
class Taken:
    """What a command took."""

    wall_s: float
    cpu_s: float
    peak_mib: float
    output: str


class StandInProcess:
    """The stand-in on another core."""

    def __init__(self, url: str) -> None:
        self.url = url

    def stats(self) -> dict[str, Any]:
        """Return its counts."""
        return self._ask("/stats")

    def set(self, **changes: Any) -> None:
        """Change its behaviour and zero its counts."""
        self._ask("/behaviour", changes)
        self._ask("/reset", {})

    def _ask(self, path: str, body: Any = None) -> dict[str, Any]:
        data = None if body is None else json.dumps(body).encode()
        with urlopen(Request(self.url + path, data)) as response:
            answer: dict[str, Any] = json.load(response)
        return answer


@contextmanager
def standin() -> Iterator[StandInProcess]:
    """Run the stand-in; every request is answered at once until its behaviour is set."""
    command = [sys.executable, "-m", "tests.standin"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=_ROOT) as process:
        assert process.stdout is not None
        try:
            yield StandInProcess(process.stdout.readline().strip())
        finally:
            process.terminate()


@contextmanager
def workplace() -> Iterator[Path]:
    """Give a folder that is gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="evalnb-bench-") as folder:
        yield Path(folder)


def python(*arguments: object) -> list[str]:
    """Return a command of this Python."""
    return [sys.executable, *map(str, arguments)]


def evalnb(*arguments: object) -> list[str]:
    """Return an evalnb command."""
    return python("-m", "evalnb", *arguments)


def run_command(suite: Path, mode: str, results: Path, *further: object) -> list[str]:
    """Return the command of a run without its notebook."""
    options = ("--mode", mode, "--no-notebook", "--concurrency", CONCURRENCY, "--results", results)
    return evalnb("run", suite, *options, *further)


def start(command: list[str], url: str | None = None) -> subprocess.Popen[bytes]:
    """Start a command that finds the stand-in where the API would be."""
    environment = {name: value for name, value in os.environ.items() if name != "CI"}
    environment["PYTHONPATH"] = str(_ROOT)
    if url:
        environment |= {"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "unused"}
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment
    )


def take(command: list[str], url: str | None = None) -> Taken:
    """Run a command to its end.

    Raises
    ------
    RuntimeError
        If it came to none.
    """
    started = time.perf_counter()
    process = start(command, url)
    assert process.stdout is not None
    with process.stdout:
        output = process.stdout.read().decode()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    wall_s = time.perf_counter() - started
    if process.returncode not in _FINISHED:
        raise RuntimeError(f"{command} ended with {process.returncode}:\n{output[-2000:]}")
    return Taken(wall_s, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, output)


def take_run(
    suite: Path, mode: str, results: Path, *further: object, url: str | None = None
) -> Taken:
    """Run a suite to its end.

    Raises
    ------
    RuntimeError
        If a row is missing, or nothing was scored.
    """
    taken = take(run_command(suite, mode, results, *further), url)
    run = newest_run(results)
    n_rows, n_cases = _n_lines(run / "outputs.jsonl"), _n_lines(suite / "cases.jsonl")
    if n_rows != n_cases or "none of the" in (run / "summary.md").read_text():
        raise RuntimeError(f"{n_rows} rows for {n_cases} cases:\n{taken.output[-2000:]}")
    return taken


def interleaved(rounds: int, **candidates: Callable[[], Taken]) -> dict[str, Taken]:
    """Return the fastest of several rounds of each; every round has each of them once."""
    best: dict[str, Taken] = {}
    for _ in range(rounds):
        for name, candidate in candidates.items():
            taken = candidate()
            if name not in best or taken.wall_s < best[name].wall_s:
                best[name] = taken
    return best


def newest_run(results: Path) -> Path:
    """Return the folder of the last run below a results root."""
    return max((path.parent for path in results.rglob("run.json")), key=os.path.getmtime)


def _n_lines(path: Path) -> int:
    with path.open("rb") as lines:
        return sum(1 for _ in lines)
