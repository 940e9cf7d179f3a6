from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest

from evalnb.acceptance import accept_baseline, baseline_diff, check_acceptable
from evalnb.baseline import read_baseline
from evalnb.errors import InputError
from evalnb.floors import proposed_floors
from evalnb.frames import MISSES, OUTPUTS
from evalnb.gate import decide, exit_code, outcome
from evalnb.golden import GoldenSet
from evalnb.results import write_run
from evalnb.runs import Run
from evalnb.scoring import score, slices, summarize
from tests.suites import make_suite

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

NOW = datetime(2026, 6, 1, 12, 30, 15, 999, tzinfo=UTC)
ONE = {"id": "one", "input": "Hi", "expected_exact": "yes"}
TWO = {"id": "two", "input": "Hi", "must_contain": ["5 days"], "must_not_include": ["sorry"]}


def outputs(**texts: str | None) -> pd.DataFrame:
    """Build outputs of one repeat, a case a keyword; None is missing by accident."""
    return OUTPUTS.build(
        {"run_id": "run", "case_id": case_id, "repeat": 1}
        | ({"na_reason": "server"} if text is None else {"text": text, "output_hash": "h"})
        for case_id, text in texts.items()
    )


def make_run(golden: GoldenSet, **texts: str | None) -> Run:
    answered = outputs(**texts)
    scores = score(golden, answered)
    results = summarize(golden, answered, scores)
    decision = decide(golden, scores, read_baseline(golden), as_of=date(2026, 6, 1))
    return Run(
        manifest={
            "run_id": "run",
            "suite": "shop",
            "golden_version": golden.version,
            "system": "v1",
            "system_fingerprint": "f00d",
            "mode": "replay",
            "repeats": 1,
            "as_of": "2026-06-01",
            "models": ["m"],
            "notice": None,
            "baseline": None,
            "started_at": "2026-06-01T12:00:00+00:00",
        },
        outputs=answered,
        scores=scores,
        results=results,
        slices=slices(results, []),
        decision=decision,
        misses=MISSES.empty(),
        outcome=outcome(decision),
        exit_code=exit_code(decision),
    )


def accept(
    golden: GoldenSet,
    run: Run,
    *,
    reason: str = "first",
    environment: Mapping[str, str] | None = None,
    removed: Sequence[str] = (),
) -> None:
    assert golden.folder is not None
    folder = golden.folder.parent / "results" / "run"
    folder.mkdir(parents=True, exist_ok=True)
    write_run(folder, run)
    accept_baseline(
        golden, folder, reason=reason, now=NOW, environment=environment or {}, removed=removed
    )


def suite(folder: Path, *cases: dict[str, Any], settings: str = "") -> GoldenSet:
    return make_suite(folder / "shop", list(cases or (ONE, TWO)), settings)


# Accepting


def test_the_first_run_is_accepted_though_nothing_was_decided(tmp_path: Path) -> None:
    golden = suite(tmp_path)
    run = make_run(golden, one="yes", two="sorry")
    assert run.decision["rule"].tolist() == ["no_baseline"]
    accept(golden, run, reason=" first run, looked at by kim ")
    baseline = read_baseline(golden)
    assert baseline is not None
    digest = baseline.manifest["outputs_sha256"]
    assert len(digest) == 64
    assert baseline.manifest == {
        "format": 1,
        "outputs_sha256": digest,
        "settings_fingerprint": None,
        "suite": "shop",
        "counting": [],
        "run_id": "run",
        "golden_version": golden.version,
        "mode": "replay",
        "repeats": 1,
        "models": ["m"],
        "notice": None,
        "tier": "rule_only",
        "judges": {},
        "system": {"name": "v1", "fingerprint": "f00d"},
        "accepted_at": "2026-06-01T12:30:15+00:00",
        "reason": "first run, looked at by kim",
    }
    assert baseline.outputs["text"].tolist() == ["yes", "sorry"]


def test_the_accepted_run_passes_against_itself(tmp_path: Path) -> None:
    golden = suite(tmp_path)
    texts = {"one": "no", "two": "5 days"}
    accept(golden, make_run(golden, **texts))
    again = make_run(golden, **texts)
    assert (again.outcome, again.exit_code, len(again.decision)) == ("pass", 0, 0)


def test_a_run_that_is_worse_may_be_accepted_with_a_reason(tmp_path: Path) -> None:
    golden = suite(tmp_path)
    accept(golden, make_run(golden, one="yes", two="5 days"))
    worse = make_run(golden, one="no", two="5 days")
    assert worse.exit_code == 1
    accept(golden, worse, reason="the answer is `no` from now on")
    assert make_run(golden, one="no", two="5 days").exit_code == 0


# Refusing


def refused(golden: GoldenSet, run: Run, match: str, **options: Any) -> None:
    assert golden.folder is not None
    path = golden.folder / "baseline" / "baseline.json"
    before = path.read_bytes() if path.exists() else None
    with pytest.raises(InputError, match=match) as caught:
        accept(golden, run, **options)
    assert caught.value.exit_code == 2
    assert (path.read_bytes() if path.exists() else None) == before


@pytest.mark.parametrize("value", ["true", "1", "false", "woodpecker"])
def test_nothing_is_accepted_in_ci(tmp_path: Path, value: str) -> None:
    golden = suite(tmp_path)
    run = make_run(golden, one="yes", two="5 days")
    refused(golden, run, "not accepted in CI: accept it at a desk", environment={"CI": value})


def test_a_reason_is_needed(tmp_path: Path) -> None:
    golden = suite(tmp_path)
    run = make_run(golden, one="yes", two="5 days")
    refused(golden, run, "needs a reason", reason=" \n")


def test_a_run_of_other_cases_is_refused(tmp_path: Path) -> None:
    run = make_run(suite(tmp_path, ONE), one="yes")
    changed = suite(tmp_path, ONE | {"expected_exact": "no"})
    refused(
        changed,
        run,
        f"run run is of golden version {run.manifest['golden_version']}, the suite is at "
        f"{changed.version}: run it again",
    )


def test_an_inconclusive_run_is_refused(tmp_path: Path) -> None:
    golden = suite(tmp_path)
    accept(golden, make_run(golden, one="yes", two="5 days"))
    run = make_run(golden, one=None, two="5 days")
    refused(
        golden,
        run,
        "inconclusive and cannot be accepted:\n"
        r"  suite: 1 of 3 scores are missing by accident \(1 server\); the budget is 0%"
        "\n  one exact: passed in the baseline and could not be scored now: server",
    )


def test_a_first_run_with_accidents_is_refused(tmp_path: Path) -> None:
    golden = suite(tmp_path)
    refused(golden, make_run(golden, one="yes", two=None), "2 of 3 scores are missing")


# What was removed


def test_a_case_that_is_gone_must_be_named(tmp_path: Path) -> None:
    golden = suite(tmp_path)
    accept(golden, make_run(golden, one="yes", two="5 days"))
    less = suite(tmp_path, ONE)
    run = make_run(less, one="yes")
    refused(less, run, r"  two: is in the baseline and no longer .*\n.* with --removed two$")
    refused(less, run, "--removed two$", removed=["other"])
    accept(less, run, removed=["two"])
    assert make_run(less, one="yes").exit_code == 0


def test_an_expectation_that_is_gone_must_be_named(tmp_path: Path) -> None:
    golden = suite(tmp_path)
    accept(golden, make_run(golden, one="yes", two="5 days"))
    plain = {name: value for name, value in TWO.items() if name != "must_not_include"}
    less = suite(tmp_path, ONE, plain)
    run = make_run(less, one="yes", two="5 days")
    assert run.decision["rule"].tolist()[0] == "gone"
    name = "two:must_not_include"
    refused(less, run, f"  two must_not_include: was scored in .*\n.* with --removed {name}$")
    refused(less, run, "these are not removed: two$", removed=["two"])
    refused(less, run, "these are not removed: two:must_contain", removed=["two:must_contain"])
    accept(less, run, removed=[name])
    assert make_run(less, one="yes", two="5 days").exit_code == 0


def test_a_case_that_is_still_there_was_not_removed(tmp_path: Path) -> None:
    golden = suite(tmp_path)
    run = make_run(golden, one="yes", two="5 days")
    refused(golden, run, "these are not removed: one, two", removed=["one", "gone", "two"])


def test_removals_excuse_nothing_else(tmp_path: Path) -> None:
    golden = suite(tmp_path)
    accept(golden, make_run(golden, one="yes", two="5 days"))
    less = suite(tmp_path, ONE)
    run = make_run(less, one=None)
    with pytest.raises(InputError, match="could not be scored now"):
        check_acceptable(less, run, environment={}, removed=["two"])


# The difference


def test_the_first_baseline_adds_everything(tmp_path: Path) -> None:
    golden = suite(tmp_path)
    assert baseline_diff(golden, make_run(golden, one="no", two="5 days")) == [
        "one (case): absent -> fail",
        "one exact: absent -> fail",
        "two (case): absent -> pass",
        "two must_contain: absent -> pass",
        "two must_not_include: absent -> pass",
    ]


def test_the_difference_names_what_changes_and_no_more(tmp_path: Path) -> None:
    golden = suite(tmp_path)
    accept(golden, make_run(golden, one="yes", two="5 days"))
    assert baseline_diff(golden, make_run(golden, one="yes", two="5 days")) == []
    assert baseline_diff(golden, make_run(golden, one="yes", two="5 days, sorry")) == [
        "two (case): pass -> fail",
        "two must_not_include: pass -> fail",
    ]
    assert baseline_diff(golden, make_run(golden, one=None, two="5 days")) == [
        "one (case): pass -> not scored",
        "one exact: pass -> not scored",
    ]
    less = suite(tmp_path, TWO)
    assert baseline_diff(less, make_run(less, two="5 days")) == [
        "one (case): pass -> absent",
        "one exact: pass -> absent",
    ]


def test_repeats_are_counted(tmp_path: Path) -> None:
    golden = suite(tmp_path, ONE)
    run = make_run(golden, one="yes")
    twice = score(
        golden,
        OUTPUTS.build(
            {"case_id": "one", "repeat": repeat, "text": text}
            for repeat, text in ((1, "yes"), (2, "no"))
        ),
    )
    repeated = Run(**{**vars(run), "scores": twice})
    assert baseline_diff(golden, repeated) == [
        "one (case): absent -> 1 of 2 pass",
        "one exact: absent -> 1 of 2 pass",
    ]


def test_the_baseline_is_a_readable_diff(tmp_path: Path) -> None:
    golden = suite(tmp_path)
    accept(golden, make_run(golden, one="yes", two="5 days"))
    text = (tmp_path / "shop" / "baseline" / "baseline.json").read_text(encoding="utf-8")
    assert json.loads(text)["cases"].keys() == {"one", "two"}
    assert sum(line.startswith('  "') for line in text.splitlines()) == 2


def test_a_run_of_another_suite_is_refused(tmp_path: Path) -> None:
    golden = suite(tmp_path)
    run = make_run(golden, one="yes", two="sorry")
    other = replace(run, manifest={**run.manifest, "suite": "other"})
    with pytest.raises(InputError, match="is of suite 'other', not of 'shop'"):
        accept(golden, other)


def test_a_run_that_lost_scores_is_refused(tmp_path: Path) -> None:
    golden = suite(tmp_path)
    run = make_run(golden, one="yes", two="sorry")
    with pytest.raises(InputError, match="has no scores in this run"):
        accept(golden, replace(run, scores=run.scores.iloc[:1]))


def test_the_baseline_of_today_counts_and_not_that_of_the_run(tmp_path: Path) -> None:
    golden = suite(tmp_path)
    first = make_run(golden, one="yes", two="sorry")
    smaller = golden.slice(0, 1)
    without = make_run(smaller, one="yes")  # decided before there was a baseline
    accept(golden, first)
    with pytest.raises(InputError, match="no longer in the golden set"):
        accept(smaller, without)


def test_a_red_team_suite_is_accepted_red_but_with_nothing_missing(tmp_path: Path) -> None:
    settings = "red_team = true\n[gate]\nna_budget = 1.0\n"
    golden = suite(tmp_path, settings=settings)
    refused(golden, make_run(golden, one="no", two=None), "a red-team suite has no budget")
    accept(golden, make_run(golden, one="no", two="5 days"))
    again = make_run(golden, one="no", two="5 days")
    assert again.decision["rule"].tolist() == ["safety"]
    assert again.exit_code == 1


def test_a_floor_on_no_scorer_is_mended_before_a_run_is_accepted(tmp_path: Path) -> None:
    golden = suite(tmp_path, settings="[gate.floors]\nexat = 0.5\n")
    refused(
        golden, make_run(golden, one="yes", two="5 days"), "exat: has a floor of .* mean `exact`"
    )


# Floors to start with


def test_floors_are_proposed_at_095_of_what_is_accepted_and_written_by_nobody(
    tmp_path: Path,
) -> None:
    golden = suite(tmp_path)
    written = (tmp_path / "shop" / "suite.toml").read_bytes()
    run = make_run(golden, one="no", two="5 days")
    accept(golden, run)
    # One of two cases passes: 0.475; must_contain and must_not_include are at 1.
    assert proposed_floors(golden, run) == {
        "(case)": 0.475,
        "exact": 0.0,
        "must_contain": 0.95,
        "must_not_include": 0.95,
    }
    assert (tmp_path / "shop" / "suite.toml").read_bytes() == written


def test_floors_are_cut_off_and_those_that_are_there_stay(tmp_path: Path) -> None:
    three = [
        ONE | {"id": name, "expected_exact": answer}
        for name, answer in zip("abc", "yyn", strict=True)
    ]
    golden = suite(tmp_path, *three, settings='[gate.floors]\n"(case)" = 0.1\n')
    # 0.95 of two thirds is 0.6333...
    run = make_run(golden, a="y", b="y", c="y")
    assert proposed_floors(golden, run) == {"exact": 0.633}


def test_nothing_is_proposed_for_what_was_not_scored(tmp_path: Path) -> None:
    golden = suite(tmp_path, {"id": "one", "input": "Hi", "rubric": ["polite"]})
    assert proposed_floors(golden, make_run(golden, one="yes")) == {}
