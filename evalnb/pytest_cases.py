"""A suite's cases as tests of pytest, and the gate over all of them as one more.

The suite is replayed once, where pytest was started, by what `evalnb run` does, and its run is
written; the tests report from it. Workers of pytest-xdist are told where it is.

PYTEST_DONT_REWRITE: there is no `assert` here.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from evalnb.errors import EvalnbError, InputError
from evalnb.evaluation import evaluate
from evalnb.frames import to_records
from evalnb.golden import GoldenSet, read_golden
from evalnb.holdout import holdout_cases, without_texts
from evalnb.places import shown_from_here
from evalnb.reports.junit import CaseTest, case_tests
from evalnb.reports.terminal import describe_run
from evalnb.results import new_run_folder, read_run, write_run
from evalnb.rollout import find_override
from evalnb.systems import load_system

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from evalnb.runs import Run

__all__ = [
    "CaseItem",
    "CasesFile",
    "GateItem",
    "pytest_collect_file",
    "pytest_configure",
    "pytest_configure_node",
    "pytest_runtest_makereport",
    "pytest_runtestloop",
]

GATE = "(gate)"
"""Name of the test of the decision; no case can have it."""

_INPUT = "evalnb_runs"
_DECIDED_STATUS = (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED)


class _Failed(Exception):  # noqa: N818 - a failure of the case, no error of ours
    """Lines that say why a case or the gate fails."""


@dataclass
class _Suite:
    """A suite that was asked for, with its run once there is one."""

    golden: GoldenSet
    path: Path
    folder: Path | None = None

    def evaluate(self) -> None:
        """Replay the suite and write the run, once."""
        if self.folder is not None:
            return
        now = datetime.now(UTC)
        override = find_override(os.environ, self.golden.folder)
        system = load_system(self.golden, None)
        folder = new_run_folder(self.golden, now)
        try:
            run = evaluate(
                self.golden,
                system,
                run_id=folder.name,
                as_of=now.date(),
                progress="none",
                override=override,
            )
        except EvalnbError:
            folder.rmdir()
            raise
        write_run(folder, run)
        self.folder = folder

    @cached_property
    def run(self) -> Run:
        """The run as it was written."""
        if self.folder is None:
            raise RuntimeError(f"{self.golden.settings.name} was not run")
        return read_run(self.folder)

    @cached_property
    def tests(self) -> dict[str, CaseTest]:
        """How each case went; of holdout cases nothing that was said."""
        hidden = holdout_cases(self.golden)
        tests = case_tests(
            without_texts(to_records(self.run.results), hidden),
            to_records(self.run.scores),
            without_texts(to_records(self.run.decision), hidden),
        )
        return {test.name: test for test in tests}


_SUITES = pytest.StashKey[dict[Path, _Suite]]()


def pytest_configure(config: pytest.Config) -> None:
    """Read the suites, and collect their cases beside all else."""
    suites = {}
    runs = getattr(config, "workerinput", {}).get(_INPUT, {})
    for name in config.getoption("--evalnb"):
        try:
            suite = _read(config.invocation_params.dir / name)
        except EvalnbError as error:
            pytest.exit(f"evalnb: {error}", returncode=error.exit_code)
        suite.folder = Path(runs[str(suite.path)]) if runs else None
        suites[suite.path] = suite
    config.stash[_SUITES] = suites
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(_Decisions(suites))
    named = {
        (config.invocation_params.dir / argument.partition("::")[0]).resolve()
        for argument in config.args
    }
    config.args += [str(path) for path in suites if named.isdisjoint([path, *path.parents])]


def _read(folder: Path) -> _Suite:
    if not folder.is_dir():
        raise InputError(f"there is no suite at {folder}: give a suite's folder")
    return _Suite(read_golden(folder), (folder / "cases.jsonl").resolve())


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Make a collector of the cases of a suite that was asked for."""
    suite = parent.config.stash[_SUITES].get(file_path.resolve())
    return None if suite is None else CasesFile.from_parent(parent, path=file_path, suite=suite)


class CasesFile(pytest.File):
    """The cases of a suite, then the gate."""

    def __init__(self, *, suite: _Suite, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.suite = suite

    def collect(self) -> Iterator[pytest.Item]:
        """Make a test a case, by its id."""
        for case in self.suite.golden:
            yield CaseItem.from_parent(self, name=case.id, suite=self.suite)
        yield GateItem.from_parent(self, name=GATE, suite=self.suite)


class _Item(pytest.Item):
    """One test of a suite."""

    def __init__(self, *, suite: _Suite, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.suite = suite
        self.add_marker("evalnb")

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], *args: Any) -> Any:
        """Say why, without a traceback."""
        if isinstance(excinfo.value, (_Failed, pytest.xfail.Exception)):
            return str(excinfo.value)
        return super().repr_failure(excinfo, *args)

    def reportinfo(self) -> tuple[Path, None, str]:
        """Say what this is a test of."""
        return self.path, None, f"{self.suite.golden.settings.name}: {self.name}"


class CaseItem(_Item):
    """A test of one case: red is what is new, as in `junit.xml`."""

    def runtest(self) -> None:
        """Report how the case went."""
        test = self.suite.tests[self.name]
        said = "\n".join(test.lines)
        match test.kind:
            case "failure" | "error" if self.suite.run.exit_code:
                raise _Failed(said)
            case "failure" | "error":
                pytest.xfail(f"reported only, the run passes: {said}")
            case "skipped" if test.type == "no verdict":
                pytest.skip(said)
            case "skipped":
                pytest.xfail(said)


class GateItem(_Item):
    """The decision over all cases, with what is about no single one."""

    def runtest(self) -> None:
        """Report the decision."""
        if self.suite.run.exit_code:
            raise _Failed(describe_run(self.suite.run))


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> None:
    """Replay the suites of which a test was selected."""
    if session.config.option.collectonly or hasattr(session.config, "workerinput"):
        return
    wanted = {item.suite.path: item.suite for item in session.items if isinstance(item, _Item)}
    for suite in wanted.values():
        _evaluate(suite)


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Replay all suites before the first worker of pytest-xdist starts; tell each where they are."""
    suites = node.config.stash[_SUITES]
    for suite in suites.values():
        _evaluate(suite)
    node.workerinput[_INPUT] = {str(path): str(suite.folder) for path, suite in suites.items()}


def _evaluate(suite: _Suite) -> None:
    try:
        suite.evaluate()
    except EvalnbError as error:
        pytest.exit(f"evalnb: {error}", returncode=error.exit_code)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Say in a report of which gate it is; pytest-xdist hands that on."""
    report = yield
    if isinstance(item, GateItem) and call.when == "call":
        report.evalnb_gate = str(item.suite.path)  # type: ignore[attr-defined]
    return report


class _Decisions:
    """What the session comes to where pytest was started."""

    def __init__(self, suites: dict[Path, _Suite]) -> None:
        self._suites = suites
        self._decided: set[Path] = set()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note that a gate was run."""
        path = getattr(report, "evalnb_gate", None)
        if path is not None:
            self._decided.add(Path(path))

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """End with the exit code of `evalnb run` where that is the worse one."""
        if session.exitstatus in _DECIDED_STATUS:
            codes = [self._suites[path].run.exit_code for path in self._decided]
            session.exitstatus = max([int(session.exitstatus), *codes])

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Say what the runs came to, and where they are."""
        for path, suite in self._suites.items():
            if suite.folder is None:
                continue
            terminalreporter.section("evalnb")
            if path in self._decided:
                said = describe_run(suite.run)  # which a gate that fails has said whole
                red = suite.run.exit_code != 0
                terminalreporter.line(said.splitlines()[0] if red else said)
            else:
                name = suite.golden.settings.name
                terminalreporter.line(f"{name}: its {GATE} was not selected, so nothing is decided")
            terminalreporter.line(f"  {shown_from_here(suite.folder)}")
