"""Whether a judge of pairs favours its own family; labels and verdicts are scripted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

from evalnb.baseline import write_baseline
from evalnb.cases import Case
from evalnb.cassettes import Cassettes
from evalnb.curation.labels import append_label, label_path
from evalnb.errors import InputError
from evalnb.frames import LABELS, OUTPUTS, SCORES
from evalnb.preferences import describe_preferences, preferred_pairs, self_preference_probe
from evalnb.probes import (
    PROBE_VERDICTS,
    PreferredPair,
    SelfPreference,
    load_probes,
    probe_effects,
    probe_judges,
    probed_judges,
)
from tests.probes.judges import ScriptedJudge
from tests.probes.scripted import standard_error
from tests.suites import make_suite

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from evalnb.golden import GoldenSet

CASES: list[dict[str, Any]] = [
    {"id": f"case-{number}", "input": f"Question {number}?", "rubric": ["Says it."]}
    for number in range(6)
]


def pairs(n: int) -> list[PreferredPair]:
    """People prefer the judge's own answer in every second pair."""
    return [
        PreferredPair(Case(id=f"case-{i}", input="?"), f"Own {i}.", f"Other {i}.", i % 2 == 0)
        for i in range(n)
    ]


def verdicts(probe: SelfPreference, said: Iterable[tuple[str | None, str | None]]) -> pd.DataFrame:
    """Say of each pair which answer is better in either order."""
    shown = list(probe.variants(()))
    given = [better for both in said for better in both]
    return PROBE_VERDICTS.build(
        {
            "judge": "pairwise",
            "judge_fingerprint": "f",
            "probe": probe.name,
            "case_id": one.item,
            "variant": one.name,
            "family": one.family,
            "role": one.role,
            "scorer": "pairwise",
            "judge_repeat": 1,
            "better": better,
        }
        for one, better in zip(shown, given, strict=True)
    )


OWN, OTHER, TIE = ("first", "second"), ("second", "first"), ("tie", "tie")


def effect(probe: SelfPreference, said: Iterable[Any]) -> pd.Series:
    return probe_effects(verdicts(probe, said), [probe]).iloc[0]


def test_following_people_to_either_answer_alike_is_no_self_preference() -> None:
    probe = SelfPreference(pairs(20))
    row = effect(probe, [OWN if pair.people_prefer_own else OTHER for pair in probe.pairs])
    assert (row["estimate"], row["n"], row["p"], row["real"]) == (0, 20, 1, False)


def test_it_is_how_much_more_often_people_are_followed_to_ones_own() -> None:
    # Of 10 pairs where people prefer its own it picks its own in 9; of 10 others it follows in 4.
    probe = SelfPreference(pairs(20))
    said = [OWN if i // 2 < (9 if i % 2 == 0 else 6) else OTHER for i in range(20)]
    row = effect(probe, said)
    assert row["estimate"] == pytest.approx(0.9 - 0.4)
    # Newcombe's method 10, from Wilson's intervals of 9/10 (0.5958, 0.9821) and 4/10 (0.1682,
    # 0.6873): 0.5 - sqrt(0.3042² + 0.2873²) and 0.5 + sqrt(0.0821² + 0.2318²).
    assert row["ci_low"] == pytest.approx(0.0815, abs=1e-3)
    assert row["ci_high"] == pytest.approx(0.7459, abs=1e-3)


def test_what_depends_on_the_order_or_is_missing_is_left_out_and_counted() -> None:
    probe = SelfPreference(pairs(6))
    said = [OWN, OTHER, ("first", "first"), TIE, (None, "first"), OTHER]
    row = effect(probe, said)
    assert (row["n"], row["n_left_out"], row["estimate"]) == (3, 3, 0)


def test_where_people_never_prefer_one_side_it_is_not_known() -> None:
    probe = SelfPreference([pair for pair in pairs(8) if pair.people_prefer_own])
    row = effect(probe, [OWN] * 4)
    assert pd.isna(row["estimate"])
    assert row["reason"] == "too_few"
    assert pd.isna(row["real"])


@pytest.mark.parametrize(("follows_to_other", "least", "most"), [(0.45, 0.9, 1), (0.95, 0, 0.05)])
def test_a_planted_self_preference_is_found_and_a_fair_judge_is_not_accused(
    follows_to_other: float, least: float, most: float
) -> None:
    """40 pairs; both judges follow people to their own answer in 95%."""
    probe, n_runs, rng = SelfPreference(pairs(40)), 100, np.random.default_rng(0)
    found = 0
    for _ in range(n_runs):
        follows = [
            rng.random() < (0.95 if pair.people_prefer_own else follows_to_other)
            for pair in probe.pairs
        ]
        said = [
            OWN if pair.people_prefer_own == followed else OTHER
            for pair, followed in zip(probe.pairs, follows, strict=True)
        ]
        found += bool(effect(probe, said)["real"])
    slack = 2 * standard_error(0.05, n_runs)
    assert least <= found / n_runs <= most + (slack if most < 1 else 0)


# From the labels of a suite


@pytest.fixture
def golden(tmp_path: Path) -> GoldenSet:
    return make_suite(
        tmp_path / "shop", CASES, '[judging]\njudges = ["axes"]\nmodel = "claude-haiku-5-5"\n'
    )


def answer(case_id: str, output_hash: str, model: str | None, text: str = "Yes.") -> Any:
    return {"case_id": case_id, "output_hash": output_hash, "model": model, "text": text}


def label(case_id: str, value: float | None, *, turned: bool = False, rater: str = "a") -> Any:
    first, second = ("o", "c") if turned else ("c", "o")
    return {
        "case_id": case_id,
        "output_hash": first,
        "other_hash": second,
        "rater": rater,
        "axis": "preference",
        "value": value,
        "action": "label",
    }


def test_pairs_are_those_that_most_people_decide(golden: GoldenSet) -> None:
    answers = {
        (case["id"], key): answer(case["id"], key, model, f"By {key}.")
        for case in CASES
        for key, model in (("c", "claude-sonnet-5-5"), ("o", "other-1"))
    }
    answers["case-4", "o"]["model"] = "claude-opus-4-8"
    del answers["case-5", "o"]
    said = [
        label("case-0", 1.0),
        label("case-1", 1.0, turned=True),
        *(label("case-2", value, rater=name) for name, value in (("a", 1.0), ("b", 0.0))),
        *(label("case-3", value, rater=name) for name, value in (("a", 0.0), ("b", 0.5))),
        label("case-4", 1.0),
        label("case-5", 1.0),
    ]
    found, left_out = preferred_pairs(golden, LABELS.build(said), answers, "claude-haiku-5-5")
    assert [(pair.case.id, pair.people_prefer_own) for pair in found] == [
        ("case-0", True),
        ("case-1", False),
        ("case-3", False),
    ]
    assert {(pair.own, pair.other) for pair in found} == {("By c.", "By o.")}
    assert left_out == {
        "that people call equal": 1,
        "with both answers of the judge's family, or none": 1,
        "whose case or answers are gone": 1,
    }
    assert describe_preferences(left_out) == [
        (
            "self_preference: labelled pairs left out: 1 that people call equal, 1 with both answers "
            "of the judge's family, or none, 1 whose case or answers are gone"
        )
    ]


def test_a_suite_without_labels_of_pairs_has_no_such_probe(
    golden: GoldenSet, tmp_path: Path
) -> None:
    assert self_preference_probe(golden, tmp_path) == (None, {})
    with pytest.raises(InputError, match="needs pairs that people labelled"):
        load_probes(golden, ["self_preference"])


def test_labelled_pairs_are_shown_to_the_suites_judge_of_pairs(
    golden: GoldenSet, tmp_path: Path
) -> None:
    """Labels by a scripted rater; a judge that always takes the answer of its own family."""
    line = {"run_id": "r", "rater": "scripted-a", "at": "2026-06-01T12:00:00.000+00:00"}
    for number, value in ((0, 1.0), (1, 0.0), (2, 1.0), (3, 0.0)):
        append_label(label_path(golden, "scripted-a"), {**label(f"case-{number}", value), **line})
    assert self_preference_probe(golden, tmp_path)[1] == {"whose case or answers are gone": 4}
    outputs = OUTPUTS.build(
        {**answer(case["id"], key, model, f"By {key}."), "repeat": repeat}
        for case in CASES
        for repeat, key, model in ((1, "c", "claude-sonnet-5-5"), (2, "o", "other-1"))
    )
    write_baseline(golden, {}, SCORES.empty(), outputs)
    probe, left_out = self_preference_probe(golden, tmp_path)
    assert probe is not None
    assert left_out == {}
    said = probe_judges(
        golden,
        outputs,
        probed_judges(golden),
        load_probes(golden, ["self_preference"], more=[probe]),
        cassettes=Cassettes("none", "live"),
        upstream=ScriptedJudge(
            lambda text: "first" if text.index("By c.") < text.index("By o.") else "second"
        ),
    )
    row = probe_effects(said, [probe]).iloc[0]
    assert (row["judge"], row["scorer"], row["n"], row["estimate"]) == (
        "pairwise",
        "pairwise",
        4,
        1,
    )
