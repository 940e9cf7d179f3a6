from __future__ import annotations

import re
from datetime import date
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

from evalnb.baseline import count
from evalnb.cases import Case
from evalnb.comparing import Side, compare, open_comparison, open_side, suite_of
from evalnb.errors import InputError
from evalnb.evaluation import evaluate
from evalnb.frames import OUTPUTS, to_records
from evalnb.golden import GoldenSet, SuiteSettings, read_golden
from evalnb.reports import comparison_tables as tables
from evalnb.reports.comparison_words import describe_comparison, phrases_caption
from evalnb.results import write_run
from evalnb.scoring import score
from evalnb.systems import CallableSystem
from tests.commands import evalnb
from tests.phrases.answers import planted, recorded
from tests.suites import REPOSITORY, make_suite

if TYPE_CHECKING:
    from pathlib import Path

    from evalnb.comparing import Comparison

SUPPORT = str(REPOSITORY / "golden" / "support")


def golden(n: int = 12, **fields: Any) -> GoldenSet:
    """Make cases that expect the word "yes", the first half in English, the others in German."""
    cases = [
        {"id": f"c{number:02}", "input": "Hi", "must_contain": ["yes"]}
        | {"language": "en" if number < n // 2 else "de"}
        | fields
        for number in range(n)
    ]
    return GoldenSet(tuple(map(Case.model_validate, cases)), SuiteSettings(slices=["language"]))


def side(suite: GoldenSet, name: str, *texts: str, **columns: Any) -> Side:
    rows = [
        {"case_id": case.id, "repeat": 1, "text": text, "output_hash": f"{hash(text)}"} | columns
        for case, text in zip(suite, texts, strict=True)
    ]
    outputs = OUTPUTS.build(rows)
    return Side(name, count(score(suite, outputs)), outputs)


@pytest.fixture(scope="module")
def worse() -> Comparison:
    suite = golden()
    return compare(
        suite,
        side(suite, "old", *["yes"] * 12, output_tokens=10),
        side(suite, "new", *["yes"] * 2, *["no"] * 10, output_tokens=20),
    )


def test_results_are_paired_by_scorer_and_slice(worse: Comparison) -> None:
    rows = {(row["scorer"], row["slice"]): dict(row) for _, row in worse.scores.iterrows()}
    whole = rows["(case)", "all"]
    assert (whole["mean_a"], whole["mean_b"], whole["n"]) == (1.0, pytest.approx(2 / 12), 12)
    assert whole["estimate"] == pytest.approx(-10 / 12)
    assert whole["p_value"] == pytest.approx(2 / 2**10)  # ten cases, all one way
    assert whole["p_adjusted"] == pytest.approx(2 * 2 / 2**10)  # two tests: the cases, the scorer
    german = rows["(case)", "language=de"]
    assert (german["estimate"], german["n"]) == (-1.0, 6)
    assert pd.isna(german["p_value"])  # fewer than eight cases


def test_usage_is_a_ratio_over_cases(worse: Comparison) -> None:
    rows = {row["metric"]: dict(row) for _, row in worse.usage.iterrows()}
    assert rows["output_tokens"]["estimate"] == pytest.approx(2.0)
    assert rows["cost_usd"]["reason"] == "too_few"


def test_latency_of_recordings_has_no_interval() -> None:
    suite = golden()
    one, two = (
        side(suite, name, *["yes"] * 12, latency_ms=ms, mode="replay")
        for name, ms in (("old", 10.0), ("new", 30.0))
    )
    usage = compare(suite, one, two).usage
    row = usage[usage["metric"] == "latency_ms"].iloc[0]
    assert row["estimate"] == pytest.approx(3.0)
    assert row[["ci_low", "ci_high", "p_value"]].isna().all()
    assert row["warnings"] == ["recorded"]


def test_the_verdict_says_what_is_known(worse: Comparison) -> None:
    first, *others = describe_comparison(worse)
    assert first.startswith(
        "old passes more cases: from old to new the pass rate goes from 1.00 to"
    )
    assert any("Output tokens: 2.00 times as many" in line for line in others)
    assert any(line.startswith("2 wordings changed: ") for line in others)
    assert others[-1] == "2 of 12 answers are the same to the letter."


def test_the_verdict_says_what_is_not_known() -> None:
    suite = golden()
    found = compare(
        suite, side(suite, "old", *["yes"] * 12), side(suite, "new", *["yes"] * 11, "no")
    )
    first = describe_comparison(found)[0]
    assert first.startswith("No difference in pass rate is shown: 1.00 to 0.92")
    assert re.search(
        r"A drop of up to 0\.\d\d or a gain of up to 0\.\d\d could have been missed", first
    )


def test_a_run_beside_itself_is_no_difference() -> None:
    found = open_comparison("v1", "v1", SUPPORT)
    assert describe_comparison(found) == [
        "No difference: v1 and v1 gave the same 112 answers, and they were scored alike."
    ]
    assert (found.scores["estimate"] == 0).all()
    assert found.scores["p_value"].dropna().eq(1).all()
    assert found.phrases.changes.empty
    assert found.cases.empty


def test_the_same_answers_scored_otherwise_are_a_difference() -> None:
    suite = golden()
    one, two = side(suite, "old", *["yes"] * 12), side(suite, "new", *["no"] * 12)
    found = compare(suite, one, Side("new", two.counts, one.outputs))
    assert not found.is_same
    assert describe_comparison(found)[0].startswith("old passes more")


def test_a_planted_wording_is_said(worse: Comparison) -> None:
    answers = recorded("run_a")
    changed = planted(answers, "order number", "inquiry number", 0.5, np.random.default_rng(3))
    ids = answers["case_id"].unique()
    suite = GoldenSet(
        tuple(
            Case.model_validate({"id": case_id, "input": "Hi", "must_not_include": ["password"]})
            for case_id in ids
        )
    )
    sides = []
    for name, rows in (("old", answers), ("new", changed)):
        outputs = OUTPUTS.build(to_records(rows[["case_id", "repeat", "text"]]))
        sides.append(Side(name, count(score(suite, outputs)), outputs))
    found = compare(suite, *sides)
    said = describe_comparison(found)
    place = said.index('1 wording changed: "order number" → "inquiry number".')
    assert said[place + 1] == phrases_caption(found.phrases)
    assert "inquiry number" in tables.phrases_table(found.phrases).to_html()
    assert re.search(r"found in 8 of 10 runs from \d+% of the", phrases_caption(found.phrases))


def test_cases_are_chosen_by_change_slice_and_id(worse: Comparison) -> None:
    assert len(tables.select_cases(worse)) == 10
    assert len(tables.select_cases(worse, "worse", member="language=de")) == 6
    assert tables.select_cases(worse, "better").empty
    assert tables.select_cases(worse, member="c05")["case_id"].tolist() == ["c05"]
    with pytest.raises(ValueError, match=r"must be changed, worse or better\. Got 'bad'"):
        tables.select_cases(worse, "bad")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"must be a slice by one of language\. Got 'tags=x'"):
        tables.select_cases(worse, member="tags=x")


def test_cases_are_chosen_by_a_scorer_that_scored_them() -> None:
    texts = ["yes"] * 4
    suite = GoldenSet(
        tuple(
            Case.model_validate({"id": f"c{number}", "input": "Hi"} | expected)
            for number, expected in enumerate(
                [{"must_contain": ["yes"]}, {"must_contain": ["yes"], "must_not_include": ["no"]}]
                + [{"must_not_include": ["no"]}] * 2
            )
        )
    )
    # The second case falls by both scorers, the third by one, the fourth changes and still passes.
    found = compare(suite, side(suite, "old", *texts), side(suite, "new", "yes", "no", "no", "ok"))
    assert tables.compared_scorers(found) == ["must_contain", "must_not_include"]

    def ids(which: tables.Which, scorer: str) -> list[str]:
        return sorted(tables.select_cases(found, which, scorer=scorer)["case_id"])

    assert ids("changed", "must_contain") == ["c1"]
    assert ids("changed", "must_not_include") == ["c1", "c2", "c3"]
    assert ids("worse", "must_not_include") == ["c1", "c2"]
    assert ids("better", "must_not_include") == []
    with pytest.raises(ValueError, match=r"must_contain, must_not_include\. Got 'x'"):
        tables.select_cases(found, scorer="x")


def test_holdout_cases_are_never_shown() -> None:
    suite = golden(split="holdout")
    found = compare(suite, side(suite, "old", *["yes"] * 12), side(suite, "new", *["no"] * 12))
    assert len(found.cases) == 12
    assert tables.select_cases(found).empty


def test_answers_side_by_side_are_marked_and_escaped() -> None:
    suite = golden(1)
    found = compare(
        suite,
        side(suite, "<i>old</i>", "your order number <b>"),
        side(
            suite,
            "new",
            "your inquiry number <b>",
            tool_calls=[{"name": "<script>", "arguments": {"a": "</td>"}}],
        ),
    )
    shown = tables.beside(found, tables.select_cases(found))._repr_html_()
    assert "your <del>order</del> number &lt;b&gt;" in shown
    assert "your <ins>inquiry</ins> number &lt;b&gt;" in shown
    assert "&lt;i&gt;old&lt;/i&gt;" in shown
    assert "<script>" not in shown
    assert "→ &lt;script&gt;({&quot;a&quot;: &quot;&lt;/td&gt;&quot;})" in shown


def test_the_suite_is_found_by_a_prompt_file_or_has_to_be_given() -> None:
    prompt = f"{SUPPORT}/systems/v1.toml"
    assert suite_of(["v2", prompt]).settings.name == "support"
    with pytest.raises(InputError, match="none of 'v1', 'v2' says which suite they are of"):
        suite_of(["v1", "v2"])


@pytest.mark.parametrize(
    ("which", "message"),
    [
        ("results/none", "'results/none' is not there, and names no system of the suite support"),
        ("golden", "'golden' is a folder without a run.json, and names no system"),
        ("v11", r"give the folder of a run, or a system\. Did you mean 'v1'\?"),
    ],
)
def test_a_side_that_is_neither_a_run_nor_a_system_is_told(which: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        open_side(read_golden(SUPPORT), which)


def test_a_run_of_another_suite_is_refused(tmp_path: Path) -> None:
    suite = make_suite(
        tmp_path / "golden" / "shop", [{"id": "a", "input": "Hi", "must_contain": ["x"]}]
    )

    async def answer(case: Any, client: Any) -> str:
        return "x"

    run = evaluate(
        suite,
        CallableSystem(answer, name="bot"),
        run_id="r",
        as_of=date(2026, 6, 1),
        progress="none",
    )
    write_run(tmp_path / "r", run)
    assert open_side(suite, str(tmp_path / "r")).name == "bot, run r"
    with pytest.raises(InputError, match="run r is of suite 'shop', not of 'support'"):
        open_side(read_golden(SUPPORT), str(tmp_path / "r"))


def test_the_command_says_it_in_words() -> None:
    done = evalnb("compare", "baseline", "v1", "--suite", SUPPORT, folder=REPOSITORY)
    assert (done.code, done.error) == (0, "")
    assert "No difference: baseline and v1 gave the same 112 answers" in done.out
    unknown = evalnb("compare", "v1", "v2", folder=REPOSITORY)
    assert unknown.code == 2
    assert "give it, such as `--suite golden/support`" in unknown.error
