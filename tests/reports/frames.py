"""A small run that the tests of the reports share, as literal frames."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evalnb.frames import BASELINE, DECISION, MISSES, OUTPUTS, RESULTS, SCORES, SLICES

if TYPE_CHECKING:
    import pandas as pd

RUN: dict[str, Any] = {
    "run_id": "run-2",
    "suite": "support",
    "system": "systems/v2.toml",
    "system_fingerprint": "f00d",
    "mode": "replay",
    "repeats": 1,
    "golden_version": "abc",
    "models": ["model-1"],
    "notice": None,
    "baseline": {"run_id": "run-1", "golden_version": "abc", "system": "systems/v1.toml"},
    "started_at": "2026-05-31T12:00:00+00:00",
}

PAYLOADS = [
    "<img src=x onerror=alert(1)>",
    "<script>alert(1)</script>",
    "Tom & Jerry &lt;b&gt;",
    "\"double\" and 'single'",
]
"""Texts that a page must show and never run."""


def results() -> pd.DataFrame:
    """One case that passes, one that fails, one missing by accident, one without a verdict."""
    return RESULTS.build(
        [
            _result("greets", "talk", "pass", 1, latency_ms=1500.0),
            _result("refunds", "money", "fail", 0, reasons=["exact: expected 'yes', got 'no'"]),
            _result("pays", "money", None, None, accident=1, reasons=["exact: not scored, server"]),
            _result("rhymes", None, None, None, plan=1),
        ]
    )


def _result(
    case_id: str,
    category: str | None,
    state: str | None,
    pass_rate: float | None,
    *,
    plan: int = 0,
    accident: int = 0,
    reasons: list[str] | None = None,
    latency_ms: float | None = None,
) -> dict[str, Any]:
    return {
        "case_id": case_id,
        "category": category,
        "language": "en",
        "n_repeats": 1,
        "n_scored": 0 if state is None else 1,
        "pass_rate": pass_rate,
        "state": state,
        "passed": None if state is None else state == "pass",
        "latency_ms": latency_ms,
        "n_na_plan": plan,
        "n_na_accident": accident,
        "reasons": reasons or [],
    }


def scores() -> pd.DataFrame:
    """The scores behind `results`."""
    return SCORES.build(
        [
            _score("greets", "exact", passed=True),
            _score("refunds", "exact", passed=False, reason="expected 'yes', got 'no'"),
            _score("pays", "exact", na_reason="server"),
            _score("rhymes", "rubric", na_reason="no_judge"),
        ]
    )


def _score(case_id: str, scorer: str, **values: Any) -> dict[str, Any]:
    return {"run_id": "run-2", "case_id": case_id, "repeat": 1, "scorer": scorer, **values}


def outputs() -> pd.DataFrame:
    """The outputs behind `scores`."""
    return OUTPUTS.build(
        [
            {"run_id": "run-2", "case_id": "greets", "repeat": 1, "text": "hello"},
            {"run_id": "run-2", "case_id": "refunds", "repeat": 1, "text": "no"},
            {"run_id": "run-2", "case_id": "pays", "repeat": 1, "na_reason": "server"},
            {"run_id": "run-2", "case_id": "rhymes", "repeat": 1, "text": "moon, soon"},
        ]
    )


def slices() -> pd.DataFrame:
    """The pass rates of `results`: 1 of 2 scored passes, and 2 of 2 did in the baseline."""
    return SLICES.build(
        [
            _slice("all", "all", 4, 2, 0.5, (0.0945, 0.9055), (0.25, 0.75), 1.0, 2),
            _slice("category", "money", 2, 1, 0.0, (0.0, 0.7935), (0.0, 0.5), 1.0, 1),
            _slice("category", "talk", 1, 1, 1.0, (0.2065, 1.0), (1.0, 1.0), None, 0),
        ]
    )


def _slice(
    name: str,
    value: str,
    n_planned: int,
    n_scored: int,
    pass_rate: float,
    ci: tuple[float, float],
    bounds: tuple[float, float],
    baseline: float | None,
    n_compared: int,
) -> dict[str, Any]:
    return {
        "slice": name,
        "value": value,
        "n_planned": n_planned,
        "n_scored": n_scored,
        "pass_rate": pass_rate,
        "ci_low": ci[0],
        "ci_high": ci[1],
        "bound_low": bounds[0],
        "bound_high": bounds[1],
        "baseline_pass_rate": baseline,
        "n_compared": n_compared,
    }


def decision() -> pd.DataFrame:
    """One finding of every outcome, and one about a case that the run does not have."""
    return DECISION.build(
        [
            {
                "rule": "gone",
                "outcome": "inconclusive",
                "case_id": "forgotten",
                "reason": "is no longer in the golden set",
            },
            {
                "rule": "regression",
                "outcome": "fail",
                "case_id": "refunds",
                "scorer": "exact",
                "baseline": 1.0,
                "candidate": 0.0,
                "reason": "passed in the baseline, fails now",
            },
            {
                "rule": "drift",
                "outcome": "fail",
                "scorer": "exact",
                "slice": "category=money",
                "baseline": 1.0,
                "candidate": 0.5,
                "reason": "fell by 0.500",
            },
            {
                "rule": "now_passing",
                "outcome": "note",
                "case_id": "greets",
                "scorer": "exact",
                "baseline": 0.0,
                "candidate": 1.0,
                "reason": "failed before, passes now",
            },
        ]
    )


def baseline() -> pd.DataFrame:
    """The accepted run: `greets` failed, `refunds` passed."""
    return BASELINE.build(
        [
            {"case_id": "greets", "scorer": "exact", "n_repeats": 1, "n_scored": 1, "n_passed": 0},
            {"case_id": "refunds", "scorer": "exact", "n_repeats": 1, "n_scored": 1, "n_passed": 1},
        ]
    )


def misses(
    *case_ids: str, explanation: str = "`tools[refund].description` changed"
) -> pd.DataFrame:
    """A miss for each case, all for one reason."""
    return MISSES.build(
        {
            "case_id": case_id,
            "repeat": 1,
            "occurrence": 0,
            "kind": "request",
            "key": f"key-{case_id}",
            "explanation": explanation,
        }
        for case_id in case_ids
    )
