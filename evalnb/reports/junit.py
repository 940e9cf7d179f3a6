"""The results of a run as JUnit XML, for the test page of a CI system."""

from __future__ import annotations

import math
import re
import xml.etree.ElementTree as ET
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pandas as pd

from evalnb.frames import Outcome, is_accident
from evalnb.reports.misses import group_misses, miss_lines
from evalnb.reports.numbers import count
from evalnb.reports.text import one_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

__all__ = ["junit_xml"]

_NO_CATEGORY = "no category"
_GATE = "gate"
_MAX_TEXT = 10_000

_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What XML 1.0 has no way to write, section 2.2 of the recommendation."""


@dataclass(frozen=True)
class _Test:
    """One testcase; `kind` is the element that says how it went, "" when it passed."""

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
    results: pd.DataFrame,
    scores: pd.DataFrame,
    decision: pd.DataFrame,
    misses: pd.DataFrame,
) -> str:
    """Write the results of a run as JUnit XML.

    The schema is `junit-10.xsd` of Jenkins' xUnit plugin, which covers what Maven Surefire
    writes; GitLab, GitHub actions and Azure read the same elements.

    Parameters
    ----------
    run : keys run_id, suite, system, system_fingerprint, golden_version, started_at
    results, scores, decision, misses : frames of the run

    Returns
    -------
    an XML document
        A testsuite a category, a testcase a case; `time` is the mean latency of its answers in
        seconds. A case is a `failure` when the gate blocks it, or fails without any baseline; an
        `error` when a score is NA by accident or the gate cannot decide; `skipped` when it fails
        as it did in the baseline, or has no verdict by plan: red is what is new. What the gate says about no case of the run, and the misses, are testcases of the
        suite `gate`.
    """
    findings = decision[decision["outcome"].isin([Outcome.FAIL, Outcome.INCONCLUSIVE])]
    of_cases = findings[findings["case_id"].isin(results["case_id"])]
    of_none = findings.drop(of_cases.index)
    if len(misses):
        of_none = of_none[of_none["rule"] != "miss"]
    root = ET.Element("testsuites", {"name": _clean(run["suite"])})
    has_baseline = not (decision["rule"] == "no_baseline").any()
    for category, tests in _case_tests(results, scores, of_cases, has_baseline).items():
        root.append(_suite(category, tests, run))
    root.append(_suite(_GATE, [*_finding_tests(of_none), *_miss_tests(misses)], run))
    for name in ("tests", "failures", "errors"):
        root.set(name, str(sum(int(suite.get(name, "0")) for suite in root)))
    ET.indent(root)
    text = ET.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n'


def _case_tests(
    results: pd.DataFrame, scores: pd.DataFrame, findings: pd.DataFrame, has_baseline: bool
) -> dict[str, list[_Test]]:
    findings_of = dict(list(findings.groupby("case_id", sort=False)))
    planned = _planned_reasons(scores)
    suites: dict[str, list[_Test]] = {}
    row: Any
    for row in results.itertuples(index=False):
        category = _NO_CATEGORY if pd.isna(row.category) else str(row.category)
        found = findings_of.get(row.case_id, findings.iloc[:0])
        test = _case_test(row, found, planned, has_baseline)
        suites.setdefault(category, []).append(test)
    return suites


def _case_test(
    row: Any, findings: pd.DataFrame, planned: Mapping[str, list[str]], has_baseline: bool
) -> _Test:
    seconds = 0.0 if pd.isna(row.latency_ms) else row.latency_ms / 1000
    reasons = [str(reason) for reason in row.reasons] if isinstance(row.reasons, list) else []
    said = [f"gate, {_finding_line(finding)}" for finding in findings.itertuples(index=False)]
    failed = not pd.isna(row.state) and row.state != "pass"
    accidents = 0 if pd.isna(row.n_na_accident) else row.n_na_accident
    blocked = (findings["outcome"] == Outcome.FAIL).any()
    if blocked or (failed and not has_baseline):
        state = row.state if failed else "blocked"
        return _Test(row.case_id, "failure", state, [*reasons, *said], seconds)
    if accidents or len(findings):
        missing = [f"{count(accidents, 'score')} missing by accident"] if accidents else []
        lines = [*(reasons or missing), *said]
        return _Test(row.case_id, "error", "not scored", lines, seconds)
    if failed:
        lines = ["known: the baseline fails here too, or a waiver holds", *reasons]
        return _Test(row.case_id, "skipped", "known failure", lines, seconds)
    if pd.isna(row.state):
        return _Test(
            row.case_id,
            "skipped",
            "no verdict",
            planned.get(row.case_id, ["no verdict"]),
            seconds,
        )
    return _Test(row.case_id, seconds=seconds)


def _planned_reasons(scores: pd.DataFrame) -> dict[str, list[str]]:
    missing = scores[scores["na_reason"].notna() & ~is_accident(scores["na_reason"])]
    return {
        str(case_id): list(dict.fromkeys(f"{scorer}: {reason}" for scorer, reason in pairs))
        for case_id, pairs in (
            (case_id, zip(rows["scorer"], rows["na_reason"], strict=True))
            for case_id, rows in missing.groupby("case_id", sort=False)
        )
    }


def _finding_tests(findings: pd.DataFrame) -> Iterable[_Test]:
    row: Any
    for row in findings.itertuples(index=False):
        kind = "failure" if row.outcome == Outcome.FAIL else "error"
        parts = [row.rule, row.case_id, row.scorer, row.slice]
        name = " / ".join(str(part) for part in parts if not pd.isna(part))
        yield _Test(name, kind, str(row.outcome), [_finding_line(row)])


def _finding_line(finding: Any) -> str:
    reason = "no reason given" if pd.isna(finding.reason) else finding.reason
    return f"{finding.rule}: {reason}"


def _miss_tests(misses: pd.DataFrame) -> Iterable[_Test]:
    explanations = group_misses(misses)["explanation"]
    for explanation, line in zip(explanations, miss_lines(misses), strict=True):
        yield _Test(f"miss / {explanation}", "failure", "miss", [line])


def _suite(name: str, tests: Sequence[_Test], run: Mapping[str, Any]) -> ET.Element:
    kinds = [test.kind for test in tests]
    suite = ET.Element(
        "testsuite",
        {
            "name": _clean(name),
            "tests": str(len(tests)),
            "failures": str(kinds.count("failure")),
            "errors": str(kinds.count("error")),
            "skipped": str(kinds.count("skipped")),
            "time": _seconds(math.fsum(test.seconds for test in tests)),
            "timestamp": _clean(run["started_at"]),
        },
    )
    properties = ET.SubElement(suite, "properties")
    for key in ("run_id", "system", "system_fingerprint", "golden_version"):
        ET.SubElement(properties, "property", {"name": key, "value": _clean(run[key])})
    # Jenkins takes what stands before the last dot for the package.
    classname = f"{run['suite']}.{name.replace('.', '_')}"
    for test in tests:
        suite.append(_testcase(test, classname))
    return suite


def _testcase(test: _Test, classname: str) -> ET.Element:
    element = ET.Element(
        "testcase",
        {
            "name": _clean(one_line(test.name, limit=300)),
            "classname": _clean(classname),
            "time": _seconds(test.seconds),
        },
    )
    if test.kind:
        said = {"type": _clean(test.type), "message": _clean(test.message)}
        child = ET.SubElement(element, test.kind, said)
        child.text = _clean("\n".join(test.lines))[:_MAX_TEXT]
    return element


def _seconds(seconds: float) -> str:
    return f"{seconds:.3f}"


def _clean(text: Any) -> str:
    return _FORBIDDEN.sub("\ufffd", str(text))
