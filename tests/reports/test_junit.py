import xml.etree.ElementTree as ET
from typing import Any

import pytest

from evalnb.frames import DECISION, MISSES, RESULTS, SCORES, to_records
from evalnb.reports.junit import junit_xml
from tests.reports import frames
from tests.reports.frames import PAYLOADS

ATTRIBUTES = {
    "testsuites": {"name", "tests", "failures", "errors"},
    "testsuite": {"name", "tests", "failures", "errors", "skipped", "time", "timestamp"},
    "testcase": {"name", "classname", "time"},
    "failure": {"type", "message"},
    "error": {"type", "message"},
    "skipped": {"type", "message"},
    "properties": set(),
    "property": {"name", "value"},
}
CHILDREN = {
    "testsuites": {"testsuite"},
    "testsuite": {"properties", "testcase"},
    "testcase": {"failure", "error", "skipped"},
    "properties": {"property"},
}
"""What `junit-10.xsd` of Jenkins' xUnit plugin allows, as far as it is used."""


FIRST_RUN = DECISION.build(
    [{"rule": "no_baseline", "outcome": "inconclusive", "reason": "nothing to compare with"}]
)


def write(**changed: Any) -> str:
    arguments: dict[str, Any] = {
        "run": frames.RUN,
        "results": frames.results(),
        "scores": frames.scores(),
        "decision": DECISION.empty(),
        "misses": MISSES.empty(),
        "exit_code": 1,
    }
    given = arguments | changed
    records = {name: to_records(given[name]) for name in ("results", "scores", "decision")}
    return junit_xml(**(given | records))


def read(**changed: Any) -> ET.Element:
    return ET.fromstring(write(**changed).encode())


def outcomes(root: ET.Element) -> dict[str, tuple[str, str]]:
    """Return testcase to how it went and what was said."""
    return {
        f"{test.get('classname')}: {test.get('name')}": next(
            ((child.tag, child.text or "") for child in test), ("", "")
        )
        for test in root.iter("testcase")
    }


def test_every_case_is_a_test_of_its_category() -> None:
    assert outcomes(read(decision=FIRST_RUN)) == {
        "support.gate: no_baseline": ("error", "no_baseline: nothing to compare with"),
        "support.talk: greets": ("", ""),
        "support.money: refunds": ("failure", "exact: expected 'yes', got 'no'"),
        "support.money: pays": ("error", "exact: not scored, server"),
        "support.no category: rhymes": ("skipped", "rubric: no_judge"),
    }


def test_a_failure_that_the_baseline_has_too_is_no_red_test() -> None:
    known = "known: the baseline fails here too, or a waiver holds"
    said = outcomes(read())["support.money: refunds"]
    assert said == ("skipped", f"{known}\nexact: expected 'yes', got 'no'")


def test_counts_are_those_of_the_elements() -> None:
    root = read(decision=frames.decision(), misses=frames.misses("pays"))
    counts = {
        suite.get("name"): [suite.get(name) for name in ("tests", "failures", "errors", "skipped")]
        for suite in root
    }
    assert counts == {
        "talk": ["1", "0", "0", "0"],
        "money": ["2", "1", "1", "0"],
        "no category": ["1", "0", "0", "1"],
        "gate": ["3", "2", "1", "0"],
    }
    assert [root.get(name) for name in ("tests", "failures", "errors")] == ["7", "3", "2"]


def test_time_is_in_seconds() -> None:
    root = read()
    times = {test.get("name"): test.get("time") for test in root.iter("testcase")}
    assert times == {"greets": "1.500", "refunds": "0.000", "pays": "0.000", "rhymes": "0.000"}
    assert root[0].get("time") == "1.500"


def test_only_what_the_schema_allows_is_written() -> None:
    root = read(decision=frames.decision(), misses=frames.misses("pays"))
    for element in root.iter():
        assert set(element.attrib) == ATTRIBUTES[element.tag]
        assert {child.tag for child in element} <= CHILDREN.get(element.tag, set())


def test_findings_that_belong_to_no_case_are_tests_of_the_gate() -> None:
    found = outcomes(read(decision=frames.decision()))
    gate = {name: outcome for name, outcome in found.items() if name.startswith("support.gate")}
    assert gate == {
        "support.gate: gone / forgotten": ("error", "gone: is no longer in the golden set"),
        "support.gate: drift / exact / category=money": ("failure", "drift: fell by 0.500"),
    }


def test_a_finding_about_a_case_stands_with_the_case() -> None:
    said = outcomes(read(decision=frames.decision()))["support.money: refunds"]
    assert said == (
        "failure",
        "exact: expected 'yes', got 'no'\ngate, regression: passed in the baseline, fails now",
    )


@pytest.mark.parametrize(
    ("outcome", "kind"), [("fail", "failure"), ("inconclusive", "error"), ("note", "")]
)
def test_a_case_that_passes_is_what_the_gate_says_of_it(outcome: str, kind: str) -> None:
    row = {"rule": "limits", "outcome": outcome, "case_id": "greets", "reason": "too slow"}
    said = outcomes(read(decision=DECISION.build([row])))["support.talk: greets"]
    assert said == ((kind, "gate, limits: too slow") if kind else ("", ""))


def test_a_case_with_a_repeat_missing_by_accident_is_an_error() -> None:
    row = {"case_id": "greets", "category": "talk", "state": "pass", "n_na_accident": 1}
    said = outcomes(read(results=RESULTS.build([row])))["support.talk: greets"]
    assert said == ("error", "1 score missing by accident")


def test_an_unstable_case_is_a_failure() -> None:
    row = {"case_id": "greets", "category": "talk", "state": "unstable", "reasons": ["exact: no"]}
    root = read(results=RESULTS.build([row]), decision=FIRST_RUN)
    assert outcomes(root)["support.talk: greets"] == ("failure", "exact: no")
    assert [child.get("type") for child in root.iter("failure")] == ["unstable"]


def test_misses_are_one_test_for_each_explanation() -> None:
    miss = {"rule": "miss", "outcome": "inconclusive", "reason": "a request is not recorded"}
    root = read(misses=frames.misses("greets", "refunds"), decision=DECISION.build([miss]))
    gate = {name: said for name, said in outcomes(root).items() if name.startswith("support.gate")}
    assert gate == {
        "support.gate: miss / `tools[refund].description` changed": (
            "failure",
            "2 cases miss: `tools[refund].description` changed (greets, refunds)",
        )
    }


def test_an_empty_run_is_a_document() -> None:
    root = read(results=RESULTS.empty())
    assert [suite.get("name") for suite in root] == ["gate"]
    assert root.get("tests") == "0"


def test_what_xml_forbids_is_replaced() -> None:
    row = {
        "case_id": "a\x00b",
        "category": "c\x1bd",
        "state": "fail",
        "reasons": ["\ud800\uffff]]>\x0b"],
    }
    document = write(results=RESULTS.build([row]), decision=FIRST_RUN)
    root = ET.fromstring(document.encode())
    said = outcomes(root)["support.c\ufffdd: a\ufffdb"]
    assert said == ("failure", "\ufffd\ufffd]]>\ufffd")


@pytest.mark.parametrize("payload", PAYLOADS)
def test_untrusted_text_is_text(payload: str) -> None:
    row = {"case_id": payload, "category": payload, "state": "fail", "reasons": [payload]}
    root = read(
        results=RESULTS.build([row]),
        run=dict.fromkeys(frames.RUN, payload),
        decision=FIRST_RUN,
    )
    (failure,) = root.iter("failure")
    test = next(root.iter("testcase"))
    assert [test.get("name"), failure.get("message"), failure.text] == [payload] * 3
    assert root.get("name") == payload


def test_the_document_says_its_encoding() -> None:
    assert write().startswith('<?xml version="1.0" encoding="UTF-8"?>\n<testsuites name="support"')


def test_every_case_is_listed_and_the_document_stays_bounded() -> None:
    n = 20_000
    results = [
        {"case_id": f"c{i}", "state": "fail", "reasons": ['<&"' * 5_000, "x" * 5_000]}
        for i in range(n)
    ]
    scores, decision = SCORES.empty(), FIRST_RUN
    document = junit_xml(
        run=frames.RUN,
        results=results,
        scores=to_records(scores),
        decision=to_records(decision),
        misses=MISSES.empty(),
        exit_code=2,
    )
    assert len(document.encode()) < 20_000_000
    root = ET.fromstring(document.encode())
    failures = list(root.iter("failure"))
    assert len(failures) == n
    assert (failures[0].text or "").endswith("… (cut off; report.json has all of it)")
    assert failures[-1].text == "left out for its length: report.json has it"


def test_what_an_attribute_would_lose_is_kept() -> None:
    root = read(run=frames.RUN | {"suite": "a\tb\nc"}, decision=FIRST_RUN)
    assert root.get("name") == "a\tb\nc"


def test_nothing_is_red_in_a_run_that_passes_all_the_same() -> None:
    decision = DECISION.build(
        [{"rule": "drift", "outcome": "fail", "scorer": "exact", "slice": "all", "reason": "fell"}]
    )
    assert len(list(read(decision=decision).iter("failure"))) == 1
    root = read(decision=decision, exit_code=0)
    assert list(root.iter("failure")) == []
    said = [skipped.get("message") or "" for skipped in root.iter("skipped")]
    assert "reported only: shadow mode or an override holds; drift: fell" in said
