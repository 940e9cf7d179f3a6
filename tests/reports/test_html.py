from __future__ import annotations

from dataclasses import replace
from html.parser import HTMLParser
from typing import Any

import pytest

from evalnb.cases import Case
from evalnb.frames import DECISION, MISSES, OUTPUTS, RESULTS, SCORES, SLICES, to_records
from evalnb.reports.html import Page, html_page
from evalnb.runs import Run
from tests.reports import frames
from tests.reports.frames import PAYLOADS

VOID = {"meta", "line", "rect", "circle", "path"}


class Parsed(HTMLParser):
    """The elements and the text of a page; fails where tags do not nest."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.parts: list[str] = []
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] != "style":
            self.text += data
            self.parts += data.split()

    @property
    def words(self) -> str:
        return " ".join(self.parts)

    def tags(self) -> set[str]:
        return {tag for tag, _ in self.elements}


def small_run(**changed: Any) -> Run:
    values: dict[str, Any] = {
        "manifest": frames.RUN,
        "outputs": frames.outputs(),
        "scores": frames.scores(),
        "results": frames.results(),
        "slices": frames.slices(),
        "decision": frames.decision(),
        "misses": MISSES.empty(),
        "outcome": "inconclusive",
        "exit_code": 2,
    }
    return Run(**(values | changed))


def write(run: Run | None = None, **changed: Any) -> str:
    run = run or small_run()
    page = Page(
        run=run,
        outputs=to_records(run.outputs),
        scores=to_records(run.scores),
        results=to_records(run.results),
    )
    return html_page(replace(page, **changed))


def failing_run(output: dict[str, Any], **result: Any) -> Run:
    return small_run(
        outputs=OUTPUTS.build([{"case_id": "a", "repeat": 1, **output}]),
        scores=SCORES.build([{"case_id": "a", "repeat": 1, "scorer": "exact", "passed": False}]),
        results=RESULTS.build([{"case_id": "a", "state": "fail", **result}]),
    )


def test_the_page_says_what_the_run_came_to() -> None:
    words = Parsed(write()).words
    assert words.startswith(
        "support: inconclusive support: inconclusive "
        "1 finding leaves it open: gone 1. 2 findings block: regression 1, drift 1. "
        "Pass rate 0.50 (0.09 to 0.91), 1 of the 2 scored, 2 not scored;"
    )
    assert "drift – exact category=money 1.00 0.50 fell by 0.500" in words
    assert (
        "category money 0.00, 0 of 1 0.00 to 0.79 1 of 2 0.00 to 0.50 1.00, 1 of 1 −1.00" in words
    )
    assert "by accident server 1 1 by plan no_judge 1 1" in words
    assert "2 of 4 cases failed, are unstable or could not be scored by accident." in words
    assert "There is no earlier run to compare with." in words


def test_nothing_on_the_page_can_run_or_be_fetched() -> None:
    page = Parsed(write())
    policy = next(attrs for _, attrs in page.elements if "http-equiv" in attrs)
    assert policy["http-equiv"] == "Content-Security-Policy"
    assert policy["content"] == (
        "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
    )
    assert not page.tags() & {"script", "link", "img", "iframe", "object", "form", "base"}
    for _, attributes in page.elements:
        assert not [name for name in attributes if name.startswith("on") or name == "src"]
        assert (attributes.get("href") or "#").startswith("#")


def test_the_page_has_landmarks_and_captions() -> None:
    page = Parsed(write())
    assert {"header", "nav", "main", "section", "h1", "h2", "caption"} <= page.tags()
    tags = [tag for tag, _ in page.elements]
    assert tags.count("caption") == tags.count("table")
    ids = [attrs["id"] for _, attrs in page.elements if "id" in attrs]
    assert len(ids) == len(set(ids))
    links = {attrs["href"] for tag, attrs in page.elements if tag == "a"}
    assert links <= {f"#{name}" for name in ids}
    assert page.elements[0] == ("html", {"lang": "en"})


@pytest.mark.parametrize("payload", [*PAYLOADS, "</style></title>", "{{ 1 }}", "' onload='x"])
def test_untrusted_text_is_text(payload: str) -> None:
    calls = [{"name": payload, "arguments": {payload: payload}}]
    messages = [{"role": payload, "content": [{"type": "text", "text": payload}, {"x": payload}]}]
    run = failing_run(
        {"text": payload, "tool_calls": calls, "messages": messages, "error": payload},
        reasons=[payload],
        category=payload,
        tags=[payload],
    )
    run = replace(
        run,
        manifest=frames.RUN | {"suite": payload, "notice": payload, "record_command": payload},
        decision=DECISION.build([{"rule": payload, "outcome": "fail", "reason": payload}]),
        slices=SLICES.build([{"slice": payload, "value": payload, "n_planned": 1, "n_scored": 0}]),
        misses=frames.misses("a", explanation=payload),
    )
    difference = {
        "case_id": payload, "repeat": 1, "state_before": None, "state_now": "fail",
        "text_before": "before", "text_now": payload, "tool_calls_before": [],
        "tool_calls_now": calls,
    }  # fmt: skip
    case = Case.model_validate({"id": "a", "input": payload, "must_contain": ["x"]})
    page = Parsed(write(run, differences={payload: [difference]}, cases={"a": case}))
    assert page.tags() <= Parsed(write()).tags() | {
        "code", "del", "ins", "h3", "h4", "h5", "strong", "ol", "rect", "line",
    }  # fmt: skip
    assert payload in page.text


def test_a_played_conversation_is_shown_turn_by_turn() -> None:
    case = Case.model_validate(
        {
            "id": "a",
            "turns": [
                {"input": "Where is it?", "must_contain": ["x"]},
                {"input": "And now?", "must_contain": ["x"]},
            ],
        }
    )
    turns = [
        {"text": "Which number?", "tool_calls": [], "stop_reason": "end_turn"},
        {"text": "Here.", "tool_calls": [{"name": "look", "arguments": {"n": 1}}]},
    ]
    words = Parsed(write(failing_run({"text": "Here.", "turns": turns}), cases={"a": case})).words
    assert (
        'Turn by turn user Where is it? system Which number? user And now? system Here. calls look {"n": 1}'
        in words
    )


def test_the_trajectory_is_shown_step_by_step() -> None:
    messages = [
        {"role": "assistant", "content": [{"type": "tool_use", "name": "look", "input": {"n": 1}}]},
        {"role": "user", "content": [{"type": "tool_result", "content": "nothing"}]},
        {"role": "assistant", "content": "Sorry."},
    ]
    words = Parsed(write(failing_run({"text": "Sorry.", "messages": messages}))).words
    assert 'Trajectory, 3 steps assistant calls look {"n": 1} tool result nothing assistant Sorry.' in words  # fmt: skip


def test_changed_words_are_marked_and_calls_stand_side_by_side() -> None:
    difference = {
        "case_id": "a", "repeat": 2, "state_before": "pass", "state_now": "fail",
        "text_before": "your order number", "text_now": "your inquiry number",
        "tool_calls_before": [{"name": "look", "arguments": {}}], "tool_calls_now": [],
    }  # fmt: skip
    html = write(differences={"the baseline, run run-1": [difference]})
    assert "your <del>order</del><ins>inquiry</ins> number" in html
    words = Parsed(html).words
    assert "Against the baseline, run run-1 1 answers or verdicts differ. ✓ pass → ✕ fail a repeat 2" in words  # fmt: skip
    assert "Before look {} Now none" in words


def test_of_a_holdout_case_no_text_is_shown() -> None:
    run = failing_run({"text": "secret"}, reasons=["exact: (unsaid)"])
    difference = {
        "case_id": "a", "repeat": 1, "state_before": "pass", "state_now": "fail",
        "text_before": "secret", "text_now": "secret 2", "tool_calls_before": [],
        "tool_calls_now": [{"name": "secret", "arguments": {}}],
    }  # fmt: skip
    case = Case.model_validate({"id": "a", "input": "secret?", "must_contain": ["x"]})
    html = write(
        run, differences={"run-1": [difference]}, cases={"a": case}, hidden=frozenset({"a"})
    )
    assert "secret" not in html
    assert Parsed(html).words.count("A holdout case: what was said is only in the files") == 2


def test_cost_says_how_much_of_it_is_known_and_latency_its_tail_from_60_on() -> None:
    rows = [
        {"case_id": f"c{n}", "repeat": 1, "text": "x", "latency_ms": float(n), "input_tokens": 2, "output_tokens": 1}
        for n in range(1, 61)
    ]  # fmt: skip
    rows[0]["cost_usd"] = 0.5
    manifest = frames.RUN | {"models_without_price": ["odd-1"]}
    run = small_run(outputs=OUTPUTS.build(rows), manifest=manifest)
    words = Parsed(write(run)).words
    assert "Cost at list price: 0.50 USD, 1 of 60 answers known." in words
    assert "Warning: no price is known for odd-1; what it cost is not in the sum." in words
    assert "Tokens: 120 in, 60 out, over 60 of 60 answers." in words
    # Positions in 1..60: the median is 30.5; 0.95 of 61 is 57.95.
    assert "Latency: median 30 ms, 95th percentile 58 ms, over 60 of 60 answers." in words
    fewer = small_run(outputs=OUTPUTS.build(rows[1:]))
    assert "percentile" not in write(fewer)


def test_right_to_left_text_is_set_by_its_own_direction() -> None:
    html = write(failing_run({"text": "رقم الطلب"}))
    assert '<div class="said" dir="auto">رقم الطلب</div>' in html


def test_what_acts_unseen_is_replaced() -> None:
    html = write(failing_run({"text": "a\u202eb\x1b[31m\ud800\nnext"}))
    assert "a\ufffdb\ufffd[31m\ufffd\nnext" in html


def test_a_huge_run_stays_below_5_mb_and_says_what_it_leaves_out() -> None:
    n = 1000
    long, odd = "<&\"'" * 60_000, "<&\"'" * 300
    calls = [{"name": odd, "arguments": {"x": odd}}] * 50
    messages = [{"role": "assistant", "content": odd}] * 50
    outputs = [
        {"case_id": f"c{i}", "repeat": 1, "text": long, "tool_calls": calls, "messages": messages, "error": long}
        for i in range(n)
    ]  # fmt: skip
    results = [
        {"case_id": f"c{i}", "state": "fail", "reasons": [long] * 30, "category": odd, "tags": [odd] * 9}
        for i in range(n)
    ]  # fmt: skip
    decision = [
        {"rule": f"r{i}", "outcome": outcome, "case_id": f"c{i}", "reason": long, "slice": odd}
        for i in range(n)
        for outcome in (("fail", "inconclusive", "note")[i % 3],)
    ]
    slices = [{"slice": odd, "value": f"{i}{odd}", "n_planned": 1, "n_scored": 0} for i in range(n)]
    changed = [
        {
            "case_id": f"c{i}", "repeat": 1, "state_before": "pass", "state_now": "fail",
            "text_before": long, "text_now": odd, "tool_calls_before": calls, "tool_calls_now": [],
        }
        for i in range(n)
    ]  # fmt: skip
    run = small_run(
        outputs=OUTPUTS.empty(),
        scores=SCORES.empty(),
        results=RESULTS.empty(),
        slices=SLICES.build(slices),
        decision=DECISION.build(decision),
    )
    html = write(
        run, outputs=outputs, results=results, differences={"one": changed, "two": changed}
    )
    assert len(html.encode()) < 5_000_000
    words = Parsed(html).words
    assert "of 1,000, left out here: see report.json and outputs.jsonl." in words
    assert "Shortened: 240,000 characters, all of them in outputs.jsonl." in words


def test_an_empty_run_is_a_page() -> None:
    run = small_run(
        outputs=OUTPUTS.empty(),
        scores=SCORES.empty(),
        results=RESULTS.empty(),
        slices=SLICES.empty(),
        decision=DECISION.empty(),
        outcome="pass",
        exit_code=0,
    )
    words = Parsed(write(run)).words
    assert "Nothing blocks." in words
    assert "0 of 0 cases failed" in words
