from html.parser import HTMLParser
from typing import Any

import mistune
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalnb.frames import DECISION, MISSES, RESULTS, SCORES, SLICES
from evalnb.reports.markdown import escape, summary, table
from evalnb.reports.text import one_line
from tests.reports import frames
from tests.reports.frames import PAYLOADS

HOSTILE = [
    *PAYLOADS,
    "[click](http://evil.example)",
    "![pixel](http://evil.example/p.png)",
    "http://evil.example www.evil.example me@evil.example",
    "<http://evil.example>",
    "@everyone, see #1 and GH-2 and org/repo#3",
    "`code` ```fence``` **bold** _em_ __strong__ ~~gone~~",
    "cell | other \\| cell",
    "two\n\n# lines\n- item\n\n---\n===",
    "$x$ and $$y$$",
    "- item",
    "1. item",
    "2) item",
    "> quote",
    "    code",
    "[ref]: http://evil.example",
    "[^1]",
    "- [ ] task",
    ":smile: at 12:30",
    "&#64;everyone",
    "\\",
]


class Page(HTMLParser):
    """The text and the tags of rendered Markdown."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.text = ""
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:  # noqa: ARG002
        self.tags.add(tag)

    def handle_data(self, data: str) -> None:
        self.text += data


def render(markdown: str) -> Page:
    plugins = ["table", "url", "strikethrough", "footnotes", "task_lists", "math"]
    return Page(str(mistune.create_markdown(escape=False, plugins=plugins)(markdown)))


def seen(text: str) -> str:
    """Return a text as a reader sees it: without the space of no width."""
    return " ".join(text.replace("\u200b", "").split())


@pytest.mark.parametrize("text", HOSTILE)
def test_escaped_text_renders_as_itself(text: str) -> None:
    page = render(f"{escape(text)}\n")
    assert page.tags <= {"p", "span"}
    assert seen(page.text) == one_line(text)


@pytest.mark.parametrize("text", HOSTILE)
def test_escaped_text_stays_in_its_cell(text: str) -> None:
    page = render(table(pd.DataFrame({"a": [text], "b": ["end"]})))
    assert page.tags <= {"table", "thead", "tbody", "tr", "th", "td", "span"}
    assert seen(page.text) == f"a b {one_line(text)} end"


@given(st.text(alphabet="ab1 \n\t<>&|`*_[]()!~$\\#@:./-+=^{}\"'", max_size=30))
def test_any_text_renders_as_itself(text: str) -> None:
    page = render(f"{escape(text)}\n")
    assert page.tags <= {"p", "span"}
    assert seen(page.text) == one_line(text)


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("@name", "&#64;&#8203;name"),
        ("#12", "&#35;&#8203;12"),
        ("GH-12", "GH&#45;&#8203;12"),
        ("http://a.b", "http&#58;&#8203;//a.b"),
        ("www.a.b", "www&#46;&#8203;a.b"),
        ("$x$", "<span>&#36;</span>x<span>&#36;</span>"),
    ],
)
def test_what_is_looked_for_after_entities_are_read_is_kept_apart(text: str, escaped: str) -> None:
    assert escape(text) == escaped


@pytest.mark.parametrize(
    "text",
    [
        "must_contain: missing: 'order number'",
        "case-1, case_2 (3 of 4); 50% at 2026-05-31T12:00:00",
        "0.93",
        "",
    ],
)
def test_plain_text_stays_readable(text: str) -> None:
    assert escape(text) == text


def test_a_table_has_escaped_labels_and_numbers_at_the_right() -> None:
    frame = pd.DataFrame(
        {
            "<b>": pd.Series(["x|y", pd.NA], dtype="string"),
            "n": pd.Series([1200, pd.NA], dtype="Int64"),
            "reasons": [["a", "b"], []],
        }
    )
    assert table(frame) == (
        "| &lt;b&gt; | n | reasons |\n"
        "| --- | --: | --- |\n"
        "| x&#124;y | 1,200 | a; b |\n"
        "| – | – |  |\n"
    )


def test_a_table_without_rows_has_its_head() -> None:
    assert table(pd.DataFrame({"a": []}, dtype="string")) == "| a |\n| --- |\n"


def summarise(**changed: Any) -> str:
    arguments: dict[str, Any] = {
        "run": frames.RUN,
        "outcome": "inconclusive",
        "exit_code": 2,
        "results": frames.results(),
        "scores": frames.scores(),
        "slices": frames.slices(),
        "decision": frames.decision(),
        "misses": MISSES.empty(),
    }
    return summary(**(arguments | changed))


def test_summary_of_a_run() -> None:
    assert (
        summarise()
        == """\
# support: inconclusive

1 finding leaves it open: gone 1. 2 findings block: regression 1, drift 1.

Pass rate 0.50 (0.09 to 0.91), 1 of the 2 scored, 2 not scored; between 0.25 and 0.75 if all of \
those had failed or passed. The baseline has 1.00 over the 2 cases of both.

System systems/v2.toml (f00d) · models model-1 · mode replay · repeats 1 · golden version abc · \
run run-2 · started 2026-05-31T12:00:00+00:00

Baseline: run run-1 of system systems/v1.toml.

## Inconclusive

| rule | case | reason |
| --- | --- | --- |
| gone | forgotten | is no longer in the golden set |

## Blocking

| rule | case | scorer | slice | baseline | now | reason |
| --- | --- | --- | --- | --: | --: | --- |
| regression | refunds | exact | – | 1.00 | 0.00 | passed in the baseline, fails now |
| drift | – | exact | category=money | 1.00 | 0.50 | fell by 0.500 |

## Slices

| slice | value | pass rate | 95% interval | not scored | bounds | baseline | change |
| --- | --- | --- | --- | --: | --- | --- | --- |
| category | money | 0.00, 0 of 1 | 0.00 to 0.79 | 1 | 0.00 to 0.50 | 1.00, 1 of 1 | −1.00 |
| category | talk | 1.00, 1 of 1 | 0.21 to 1.00 | 0 | 1.00 to 1.00 | – | – |

## Changed against the baseline

| case | scorer | baseline | now | change | what |
| --- | --- | --: | --: | --- | --- |
| refunds | exact | 1.00 | 0.00 | −1.00 | regression |
| greets | exact | 0.00 | 1.00 | &#43;1.00 | now passing |

## Failing cases

| case | category | language | passes | reasons |
| --- | --- | --- | --- | --- |
| refunds | money | en | 0 of 1 | exact: expected 'yes', got 'no' |

## Not scored

| kind | reason | scores | cases |
| --- | --- | --: | --: |
| by accident | server | 1 | 1 |
| by plan | no_judge | 1 | 1 |

## Notes

| rule | case | scorer | baseline | now | reason |
| --- | --- | --- | --: | --: | --- |
| now passing | greets | exact | 0.00 | 1.00 | failed before, passes now |
"""
    )


@pytest.mark.parametrize(
    ("outcome", "exit_code", "title"),
    [
        ("pass", 0, "# support: passed\n"),
        ("fail", 1, "# support: blocked\n"),
        ("inconclusive", 2, "# support: inconclusive\n"),
        ("inconclusive", 3, "# support: cassette miss\n"),
        ("inconclusive", 4, "# support: a fault of evalnb, no decision\n"),
    ],
)
def test_summary_says_the_outcome_first(outcome: str, exit_code: int, title: str) -> None:
    assert summarise(outcome=outcome, exit_code=exit_code).startswith(title)


def test_summary_of_an_empty_run_that_passes() -> None:
    text = summarise(
        run=frames.RUN | {"baseline": None, "models": []},
        outcome="pass",
        exit_code=0,
        results=RESULTS.empty(),
        scores=SCORES.empty(),
        slices=SLICES.empty(),
        decision=DECISION.empty(),
    )
    assert text == (
        "# support: passed\n\nNothing blocks.\n\n"
        "System systems/v2.toml (f00d) · models – · mode replay · repeats 1 · golden version abc "
        "· run run-2 · started 2026-05-31T12:00:00+00:00\n\n"
        "No baseline: nothing to compare with.\n"
    )


def test_summary_says_why_it_only_reports_where_it_does_not_block() -> None:
    decision = DECISION.build(
        [
            {"rule": "drift", "outcome": "fail", "scorer": "s", "slice": "all", "reason": "fell"},
            {"rule": "override", "outcome": "note", "reason": "this run was let pass: *why*"},
        ]
    )
    said = "The exit code is 0 all the same: this run was let pass: &#42;why&#42;."
    assert said in summarise(outcome="fail", exit_code=0, decision=decision)
    assert said not in summarise(outcome="fail", exit_code=1, decision=decision)


def test_summary_shows_the_notice() -> None:
    notice = "Recorded from a 135M-parameter local model, expect poor answers."
    assert f"\n> **{notice}**\n" in summarise(run=frames.RUN | {"notice": notice})


def test_summary_says_when_the_golden_sets_differ() -> None:
    run = frames.RUN | {"golden_version": "def"}
    assert "It is of another golden version, abc: only the cases of both" in summarise(run=run)


def test_summary_groups_misses_on_one_line_each() -> None:
    misses = frames.misses("greets", "refunds")
    rows = [
        {"rule": "miss", "outcome": "inconclusive", "case_id": case_id, "reason": "not recorded"}
        for case_id in ("greets", "refunds")
    ]
    run = frames.RUN | {"record_command": "evalnb record golden/support"}
    text = summarise(run=run, exit_code=3, decision=DECISION.build(rows), misses=misses)
    line = "- 2 cases miss: &#96;tools&#91;refund&#93;.description&#96; changed (greets, refunds)"
    assert "\n2 cases asked for what no cassette holds.\n" in text
    assert f"\n{line}\n" in text
    assert "\nRecord what is missing: <code>evalnb record golden/support</code>\n" in text
    assert "## Inconclusive" not in text


@pytest.mark.parametrize("payload", HOSTILE)
def test_summary_escapes_untrusted_text_wherever_it_stands(payload: str) -> None:
    values = {"case_id": payload, "scorer": payload, "baseline": 1.0}
    text = summarise(
        run={
            **dict.fromkeys(frames.RUN, payload),
            "models": [payload],
            "record_command": payload,
            "baseline": dict.fromkeys(("run_id", "golden_version", "system"), payload),
        },
        results=RESULTS.build(
            [{"case_id": payload, "category": payload, "state": "fail", "pass_rate": 0.0,
              "n_scored": 1, "language": payload, "reasons": [payload]}]
        ),
        scores=SCORES.build(
            [{"case_id": payload, "repeat": 1, "scorer": payload, "na_reason": payload}]
        ),
        slices=SLICES.build(
            [{"slice": payload, "value": payload, "n_planned": 1, "n_scored": 0}]
        ),
        decision=DECISION.build(
            {"rule": payload, "outcome": outcome, "reason": payload, "slice": outcome, **values}
            for outcome in ("fail", "inconclusive", "note")
        ),
        misses=frames.misses(payload, explanation=payload),
    )  # fmt: skip
    page = render(text)
    ours = {"h1", "h2", "p", "blockquote", "strong", "ul", "li", "code", "span"}
    assert page.tags <= ours | {"table", "thead", "tbody", "tr", "th", "td"}
    # Each table still has as many cells a row as its head.
    for block in text.split("\n\n"):
        rows = [line for line in block.splitlines() if line.startswith("|")]
        assert len({row.count("|") for row in rows}) <= 1


def test_summary_stays_below_a_megabyte_and_says_what_it_left_out() -> None:
    text = "$" * 3000
    ids = [f"{n}-{text}" for n in range(2000)]
    frame = DECISION.build(
        {"rule": "regression", "outcome": "fail", "case_id": case_id, "scorer": text,
         "slice": text, "baseline": 1.0, "candidate": 0.0, "reason": text}
        for case_id in ids
    )  # fmt: skip
    long = summarise(
        run=frames.RUN | {"notice": text, "models": [text] * 100, "suite": text},
        results=RESULTS.build(
            {"case_id": case_id, "category": text, "language": text, "state": "fail",
             "pass_rate": 0.0, "n_scored": 1, "reasons": [text] * 3}
            for case_id in ids
        ),
        scores=SCORES.build(
            {"case_id": case_id, "repeat": 1, "scorer": text, "na_reason": case_id}
            for case_id in ids
        ),
        slices=SLICES.build(
            {"slice": "tags", "value": case_id, "n_planned": 1, "n_scored": 0} for case_id in ids
        ),
        decision=pd.concat([frame.assign(outcome=o) for o in ("fail", "inconclusive", "note")]),
        misses=pd.concat(
            [frames.misses(case_id, explanation=case_id) for case_id in ids[:200]]
        ),
    )  # fmt: skip
    assert len(long.encode()) < 1_000_000
    assert long.count("more, left out here.") == 8


def test_summary_lists_fifty_rows_and_counts_the_rest() -> None:
    results = RESULTS.build(
        {"case_id": f"case-{n}", "state": "fail", "pass_rate": 0.0, "n_scored": 1}
        for n in range(60)
    )
    text = summarise(results=results)
    assert "| case-49 |" in text
    assert "| case-50 |" not in text
    assert "\n\n… and 10 more, left out here.\n" in text


def test_summary_of_20_000_failing_cases_with_huge_answers_is_below_a_megabyte() -> None:
    n, long = 20_000, "$@#<" * 5_000

    def huge(i: int) -> str:
        return long if i % 400 < 200 else "x"

    results = RESULTS.build(
        {
            "case_id": f"{i}{long[:300]}",
            "category": huge(i),
            "state": "fail",
            "pass_rate": 0.0,
            "n_scored": 1,
            "reasons": [long] * 20,
        }
        for i in range(n)
    )
    decision = DECISION.build(
        {
            "rule": f"{long[:90]}{i % 40}",
            "outcome": ("fail", "inconclusive", "note")[i % 3],
            "case_id": f"{i}{long[:300]}",
            "scorer": huge(i),
            "slice": huge(i),
            "baseline": 1.0,
            "candidate": 0.0,
            "reason": huge(i),
        }
        for i in range(n)
    )
    slices = SLICES.build(
        {"slice": long[:90], "value": f"{i}{long[:300]}", "n_planned": 1, "n_scored": 0}
        for i in range(n)
    )
    misses = MISSES.build(
        {
            "case_id": f"{i}",
            "repeat": 1,
            "occurrence": 0,
            "key": f"{i}",
            "explanation": f"{i}{long[:500]}",
        }
        for i in range(2000)
    )
    text = summarise(
        run=dict.fromkeys(frames.RUN, long)
        | {"models": [long] * 50, "baseline": dict.fromkeys(frames.RUN["baseline"], long)},
        results=results,
        decision=decision,
        slices=slices,
        misses=misses,
        remarks=[long, long],
    )
    assert len(text.encode()) < 1_000_000
    assert "… and 19,9" in text
