"""The results of a run as JUnit XML, for the test page of a CI system.

There is no standard. The schema kept to is `junit-10.xsd` of Jenkins' xUnit plugin
(github.com/jenkinsci/xunit-plugin), which covers what Maven Surefire and Ant write; GitLab, the
usual GitHub actions, Azure and pytest's readers take the same elements. Of it are used:
`testsuites` (name, tests, failures, errors) of `testsuite` (name, tests, failures, errors,
skipped, time, timestamp) of `properties` and `testcase` (name, classname, time), and in a testcase
at most one of `failure`, `error` and `skipped` (type, message, text).
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias
from xml.sax.saxutils import escape

from evalnb.frames import BY_PLAN, Outcome
from evalnb.reports.misses import group_misses, miss_lines
from evalnb.reports.numbers import count
from evalnb.reports.text import one_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    import pandas as pd

__all__ = ["CaseTest", "case_tests", "junit_xml"]

Record: TypeAlias = "Mapping[str, Any]"

_NO_CATEGORY = "no category"
_GATE = "gate"
_MAX_TEXT = 10_000
_MAX_TEXTS = 2_000_000
"""Characters of a test and of all; escaped, one may be six bytes."""

_CUT = "\n… (cut off; report.json has all of it)"
_LEFT_OUT = "left out for its length: report.json has it"
_FINDINGS = (Outcome.FAIL, Outcome.INCONCLUSIVE)

_IN_ATTRIBUTES = {'"': "&quot;", "\t": "&#9;", "\n": "&#10;", "\r": "&#13;"}
_PLAIN = re.compile(r"[A-Za-z0-9 ._:;,/()+-]*")
_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What XML 1.0 has no way to write, section 2.2 of the recommendation."""


class _Budget:
    """How much text may still be written."""

    def __init__(self, characters: int) -> None:
        self._left = characters

    def take(self, text: str) -> str:
        """Return a text while there is room, then say where it is."""
        if len(text) > self._left:
            return _LEFT_OUT
        self._left -= len(text)
        return text


@dataclass(frozen=True)
class CaseTest:
    """One testcase.

    Attributes
    ----------
    name : of the case, or of what the gate says
    kind : `failure`, `error` or `skipped`, "" when it passed
    type : in a word or two, why
    lines : the reasons
    seconds : mean latency of the answers
    """

    name: str
    kind: str = ""
    type: str = ""
    lines: Sequence[str] = ()
    seconds: float = 0.0

    @property
    def message(self) -> str:
        """What a list of tests shows: the first lines in one."""
        return one_line("; ".join(one_line(line) for line in self.lines[:5]), limit=500)


def junit_xml(
    *,
    run: Mapping[str, Any],
    results: Sequence[Record],
    scores: Sequence[Record],
    decision: Sequence[Record],
    misses: pd.DataFrame,
    exit_code: int,
) -> str:
    """Write the results of a run as JUnit XML.

    Parameters
    ----------
    run : keys run_id, suite, system, system_fingerprint, golden_version, started_at
    results, scores, decision : records of the run's frames
    misses : a misses frame
    exit_code : of the run; what fails or is in error is `skipped` where it is 0 all the same

    Returns
    -------
    an XML document
        A testsuite a category, a testcase a case; `time` is the mean latency of its answers in
        seconds. A case is a `failure` when the gate blocks it, or fails without any baseline; an
        `error` when a score is NA by accident or the gate cannot decide; `skipped` when it fails
        as it did in the baseline, or has no verdict by plan: red is what is new. What the gate
        says about no case of the run, and the misses, are testcases of the suite `gate`. All
        cases are listed; beyond some megabytes of text, what was said of them is shortened.
    """
    cases = {row["case_id"] for row in results}
    of_none = [
        row
        for row in decision
        if row["outcome"] in _FINDINGS
        and row.get("case_id") not in cases
        and (row["rule"] != "miss" or misses.empty)
    ]
    suites: dict[str, list[CaseTest]] = {}
    tests = case_tests(results, scores, decision)
    for row, test in zip(results, tests, strict=True):
        suites.setdefault(row.get("category", _NO_CATEGORY), []).append(test)
    gate_tests = [*_finding_tests(of_none), *_miss_tests(misses)]
    if exit_code == 0 and any(row["outcome"] in _FINDINGS for row in decision):
        suites = {name: [*map(_reported_only, tests)] for name, tests in suites.items()}
        gate_tests = [*map(_reported_only, gate_tests)]
    budget = _Budget(_MAX_TEXTS)
    every = [test for tests in (*suites.values(), gate_tests) for test in tests]
    counts = {name: value for name, value in _counts(every).items() if name != "skipped"}
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        _start("testsuites", {"name": run["suite"], **counts}),
        *(line for name, tests in suites.items() for line in _suite(name, tests, run, budget)),
        *_suite(_GATE, gate_tests, run, budget),
        "</testsuites>",
    ]
    return "\n".join(lines) + "\n"


def case_tests(
    results: Sequence[Record], scores: Iterable[Record], decision: Sequence[Record]
) -> list[CaseTest]:
    """Say of each case how it went, as a test.

    Parameters
    ----------
    results, scores, decision : records of the frames of one run

    Returns
    -------
    in the order of `results`, as `junit_xml` describes
    """
    findings_of: dict[str, list[Record]] = {}
    for row in decision:
        if row["outcome"] in _FINDINGS and "case_id" in row:
            findings_of.setdefault(row["case_id"], []).append(row)
    has_baseline = not any(row["rule"] == "no_baseline" for row in decision)
    planned = _planned_reasons(scores)
    return [
        _case_test(row, findings_of.get(row["case_id"], ()), planned, has_baseline)
        for row in results
    ]


def _case_test(
    row: Record,
    findings: Sequence[Record],
    planned: Mapping[str, Iterable[str]],
    has_baseline: bool,
) -> CaseTest:
    name, state = row["case_id"], row.get("state")
    seconds = row.get("latency_ms", 0.0) / 1000
    reasons = row.get("reasons", [])
    if state == "pass" and not findings and not row.get("n_na_accident"):
        return CaseTest(name, seconds=seconds)
    failed = state not in (None, "pass")
    accidents = row.get("n_na_accident", 0)
    blocked = any(finding["outcome"] == Outcome.FAIL for finding in findings)
    said = [f"gate, {_finding_line(finding)}" for finding in findings]
    if blocked or (failed and not has_baseline):
        kind = str(state) if failed else "blocked"
        return CaseTest(name, "failure", kind, [*reasons, *said], seconds)
    if accidents or findings:
        missing = [f"{count(accidents, 'score')} missing by accident"] if accidents else []
        return CaseTest(name, "error", "not scored", [*(reasons or missing), *said], seconds)
    if failed:
        lines = ["known: the baseline fails here too, or a waiver holds", *reasons]
        return CaseTest(name, "skipped", "known failure", lines, seconds)
    if state is None:
        lines = list(planned.get(name, ["no verdict"]))
        return CaseTest(name, "skipped", "no verdict", lines, seconds)
    return CaseTest(name, seconds=seconds)


def _reported_only(test: CaseTest) -> CaseTest:
    """Take the red from a test of a run that passes by shadow mode or an override."""
    if test.kind not in ("failure", "error"):
        return test
    lines = ["reported only: shadow mode or an override holds", *test.lines]
    return replace(test, kind="skipped", lines=lines)


def _planned_reasons(scores: Iterable[Record]) -> dict[str, dict[str, None]]:
    """Return case id to what is missing by plan, each once."""
    found: dict[str, dict[str, None]] = {}
    for row in scores:
        if row.get("na_reason") in BY_PLAN:
            line = f"{row['scorer']}: {row['na_reason']}"
            found.setdefault(row["case_id"], {})[line] = None
    return found


def _finding_tests(findings: Iterable[Record]) -> Iterable[CaseTest]:
    for row in findings:
        kind = "failure" if row["outcome"] == Outcome.FAIL else "error"
        parts = [row[name] for name in ("rule", "case_id", "scorer", "slice") if name in row]
        yield CaseTest(" / ".join(parts), kind, row["outcome"], [_finding_line(row)])


def _finding_line(finding: Record) -> str:
    return f"{finding['rule']}: {finding.get('reason', 'no reason given')}"


def _miss_tests(misses: pd.DataFrame) -> Iterable[CaseTest]:
    explanations = group_misses(misses)["explanation"]
    for explanation, line in zip(explanations, miss_lines(misses), strict=True):
        yield CaseTest(f"miss / {explanation}", "failure", "miss", [line])


def _counts(tests: Sequence[CaseTest]) -> dict[str, str]:
    kinds = [test.kind for test in tests]
    return {
        "tests": str(len(tests)),
        "failures": str(kinds.count("failure")),
        "errors": str(kinds.count("error")),
        "skipped": str(kinds.count("skipped")),
    }


def _suite(
    name: str, tests: Sequence[CaseTest], run: Mapping[str, Any], budget: _Budget
) -> Iterator[str]:
    times = {
        "time": _seconds(math.fsum(test.seconds for test in tests)),
        "timestamp": run["started_at"],
    }
    yield "  " + _start("testsuite", {"name": name, **_counts(tests), **times})
    yield "    <properties>"
    for key in ("run_id", "system", "system_fingerprint", "golden_version"):
        yield "      " + _start("property", {"name": key, "value": run[key]}, end=" />")
    yield "    </properties>"
    # Jenkins takes what stands before the last dot for the package.
    package = _written(f"{run['suite']}.{name.replace('.', '_')}", _IN_ATTRIBUTES)
    for test in tests:
        yield from _testcase(test, f'classname="{package}"', budget)
    yield "  </testsuite>"


def _testcase(test: CaseTest, classname: str, budget: _Budget) -> Iterator[str]:
    name = _written(one_line(test.name, limit=300), _IN_ATTRIBUTES)
    start = f'    <testcase name="{name}" {classname} time="{_seconds(test.seconds)}"'
    if not test.kind:
        yield f"{start} />"
        return
    yield f"{start}>"
    said = _start(test.kind, {"type": test.type, "message": budget.take(test.message)})
    yield f"      {said}{_written(budget.take(_joined(test.lines)))}</{test.kind}>"
    yield "    </testcase>"


def _start(tag: str, attributes: Mapping[str, str], *, end: str = ">") -> str:
    values = "".join(
        f' {name}="{_written(str(value), _IN_ATTRIBUTES)}"' for name, value in attributes.items()
    )
    return f"<{tag}{values}{end}"


def _written(text: str, escapes: Mapping[str, str] | None = None) -> str:
    if _PLAIN.fullmatch(text):
        return text
    return escape(_FORBIDDEN.sub("\ufffd", text), dict(escapes or {}))


def _joined(lines: Iterable[str]) -> str:
    """Put lines into one text, of which no more than is shown is built."""
    taken, size = [], 0
    for line in lines:
        taken.append(line[: _MAX_TEXT - size])
        size += len(taken[-1]) + 1
        if size >= _MAX_TEXT:
            return "\n".join(taken)[: _MAX_TEXT - len(_CUT)] + _CUT
    return "\n".join(taken)


def _seconds(seconds: float) -> str:
    return f"{seconds:.3f}"
