"""From outputs to scores, from scores to results and slices."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from evalnb.frames import BY_PLAN, RESULTS, SCORES, SLICES, NaReason, to_records
from evalnb.jsontext import writable_text
from evalnb.scorers import SCORERS
from evalnb.stats.estimates import wilson
from evalnb.systems import Output, ToolCall

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    import pandas as pd

    from evalnb.cases import Case
    from evalnb.golden import GoldenSet
    from evalnb.matching import Matching
    from evalnb.scorers import Scorer

__all__ = ["repeat_passes", "score", "scorer_names", "slices", "summarize"]

_JUDGED = {"rubric": "rubric", "reference": "reference"}
"""Expectations that need a judge, with the name of the scorer that will have it."""


def score(golden: GoldenSet, outputs: pd.DataFrame) -> pd.DataFrame:
    """Score every output by every expectation that its case states.

    Parameters
    ----------
    golden : the cases
    outputs : an outputs frame

    Returns
    -------
    a scores frame, in the order of `outputs`
        Where an output is NA, each of its scores is NA for the same reason; expectations that
        need a judge are NA `no_judge`, or `skipped_by_rule` where a rule already failed.

    Raises
    ------
    KeyError
        If an output belongs to no case of `golden`.
    """
    return SCORES.build(
        row
        for output in to_records(outputs)
        for row in _score_output(golden[output["case_id"]], output, golden.settings.matching)
    )


def summarize(golden: GoldenSet, outputs: pd.DataFrame, scores: pd.DataFrame) -> pd.DataFrame:
    """Sum up outputs and scores by case.

    Parameters
    ----------
    golden : the cases
    outputs, scores : frames of one run

    Returns
    -------
    a results frame, a row a case in the order of `golden`
    """
    outputs_of, scores_of = _by_case(outputs), _by_case(scores)
    return RESULTS.build(
        _result(case, outputs_of.get(case.id, []), scores_of.get(case.id, [])) for case in golden
    )


def slices(
    results: pd.DataFrame, fields: Sequence[str], baseline_rates: Mapping[str, float] | None = None
) -> pd.DataFrame:
    """Pass rates of the suite and of every value of the slicing fields.

    Parameters
    ----------
    results : a results frame
    fields : of `category`, `language`, `tags`, `split`
    baseline_rates : case id to pass rate in the baseline, for the cases that it scored

    Returns
    -------
    a slices frame; first the suite as a whole, as slice `all`
    """
    rows = to_records(results)
    groups: dict[tuple[str, str], list[dict[str, Any]]] = {("all", "all"): rows}
    for name in fields:
        found: dict[tuple[str, str], list[dict[str, Any]]] = {}
        for row in rows:
            value = row.get(name, [])
            for entry in dict.fromkeys(value) if isinstance(value, list) else [value]:
                found.setdefault((name, entry), []).append(row)
        groups |= dict(sorted(found.items()))
    return SLICES.build(
        {"slice": name, "value": value, **_rates(members, baseline_rates or {})}
        for (name, value), members in groups.items()
    )


def scorer_names(case: Case) -> dict[str, str | None]:
    """Return the scorer of each expectation that a case states, None where there is none yet."""
    names: dict[str, str | None] = {}
    for expectation in case.expectations:
        scorer = SCORERS.get(expectation) if getattr(case, expectation) is not None else None
        names[expectation] = scorer.name if scorer else _JUDGED.get(expectation)
    return names


def _score_output(
    case: Case, output: Mapping[str, Any], matching: Matching
) -> Iterator[dict[str, Any]]:
    shared = {name: output.get(name) for name in ("run_id", "case_id", "repeat", "output_hash")}
    names = scorer_names(case)
    # All rules come before any judge, wherever the case states them.
    verdicts = {
        expectation: _scored(SCORERS[expectation], case, output, matching)
        for expectation, name in names.items()
        if name is not None and expectation not in _JUDGED and "na_reason" not in output
    }
    rule_failed = any(verdict.get("passed") is False for verdict in verdicts.values())
    for expectation, name in names.items():
        judged = expectation in _JUDGED
        found: dict[str, Any] = verdicts.get(expectation, {"na_reason": NaReason.NO_SCORER})
        if judged:
            skipped = NaReason.SKIPPED_BY_RULE if rule_failed else NaReason.NO_JUDGE
            found = {"na_reason": skipped}
        if "na_reason" in output:
            found = {"na_reason": output["na_reason"], "error": output.get("error")}
        tier = "judge" if judged else "rule"
        yield {**shared, "scorer": name or expectation, "tier": tier, **found}


def _scored(
    scorer: Scorer, case: Case, row: Mapping[str, Any], matching: Matching
) -> dict[str, Any]:
    calls = [ToolCall(call["name"], call["arguments"]) for call in row.get("tool_calls", [])]
    output = Output(row.get("text"), calls, stop_reason=row.get("stop_reason"))
    try:
        scored = scorer.function(case, output, matching)
    except Exception as error:  # noqa: BLE001 - a scorer's failure is a row with a reason
        return {
            "na_reason": NaReason.SCORER_ERROR,
            "error": writable_text(f"{type(error).__name__}: {error}"),
        }
    return {
        "value": scored.value,
        "raw_value": scored.value if scored.raw_value is None else scored.raw_value,
        "passed": scored.passed,
        "reason": scored.reason + ("" if scored.passed else _stop_note(output.stop_reason)),
    }


def _stop_note(stop_reason: str | None) -> str:
    match stop_reason:
        case "max_tokens" | "model_context_window_exceeded":
            return " (the answer was cut off)"
        case "refusal":
            return " (the model declined)"
        case "step_limit":
            return " (it was still calling tools at the last step)"
        case _:
            return ""


def _by_case(frame: pd.DataFrame) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for row in to_records(frame):
        found.setdefault(row["case_id"], []).append(row)
    for rows in found.values():
        rows.sort(key=lambda row: row["repeat"])
    return found


def _result(
    case: Case, outputs: Sequence[dict[str, Any]], scores: Sequence[dict[str, Any]]
) -> dict[str, Any]:
    scores = _in_order(case, scores)
    passes = repeat_passes(scores)
    n_missing = sum("na_reason" in row for row in scores)
    n_accident = sum(_is_accident(row) for row in scores)
    state = {0: "fail", len(passes): "pass"}.get(sum(passes), "unstable") if passes else None
    return {
        "case_id": case.id,
        "category": case.category,
        "language": case.language,
        "tags": case.tags or [],
        "split": case.split,
        "n_repeats": len(outputs),
        "n_scored": len(passes),
        "pass_rate": _mean(passes),
        "state": state,
        "passed": None if state is None else state == "pass",
        "mean_scores": _mean_scores(scores),
        "latency_ms": _mean(_given(outputs, "latency_ms")),
        "input_tokens": _total(_given(outputs, "input_tokens")),
        "output_tokens": _total(_given(outputs, "output_tokens")),
        "cost_usd": _total(_given(outputs, "cost_usd")),
        "n_na_plan": n_missing - n_accident,
        "n_na_accident": n_accident,
        "reasons": _reasons(scores),
    }


def _in_order(case: Case, scores: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Sort the scores of a case by repeat, then as `score` gives them."""
    names = [name or expectation for expectation, name in scorer_names(case).items()]
    position = {name: number for number, name in enumerate(names)}
    return sorted(
        scores,
        key=lambda row: (
            row["repeat"],
            position.get(row["scorer"], len(position)),
            row["scorer"],
        ),
    )


def repeat_passes(scores: Iterable[Mapping[str, Any]]) -> list[bool]:
    """Tell of each scored repeat of one case whether it passed.

    Parameters
    ----------
    scores : records of the case's scores

    Returns
    -------
    in the order of the repeats
        A repeat is scored when it has a verdict and nothing of it is missing by accident.
    """
    repeats: dict[int, list[Mapping[str, Any]]] = {}
    for row in scores:
        repeats.setdefault(row["repeat"], []).append(row)
    return [
        all(row["passed"] for row in rows if "passed" in row)
        for _, rows in sorted(repeats.items())
        if any("passed" in row for row in rows) and not any(map(_is_accident, rows))
    ]


def _is_accident(row: Mapping[str, Any]) -> bool:
    return "na_reason" in row and row["na_reason"] not in BY_PLAN


def _mean_scores(scores: Iterable[Mapping[str, Any]]) -> dict[str, float]:
    values: dict[str, list[float]] = {}
    for row in scores:
        if "value" in row:
            values.setdefault(row["scorer"], []).append(row["value"])
    return {name: math.fsum(entries) / len(entries) for name, entries in values.items()}


def _reasons(scores: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return what failed and what is missing by accident, each once."""
    lines = [
        f"{row['scorer']}: not scored, {row['na_reason']}"
        if "na_reason" in row
        else f"{row['scorer']}: {row['reason']}"
        for row in scores
        if _is_accident(row) or row.get("passed") is False
    ]
    return list(dict.fromkeys(lines))


def _rates(rows: Sequence[Mapping[str, Any]], baseline: Mapping[str, float]) -> dict[str, Any]:
    rated = {row["case_id"]: row["pass_rate"] for row in rows if "pass_rate" in row}
    total, n_planned, n_scored = math.fsum(rated.values()), len(rows), len(rated)
    compared = [baseline[case_id] for case_id in rated if case_id in baseline]
    estimate = wilson(total, n_scored)
    return {
        "n_planned": n_planned,
        "n_scored": n_scored,
        "pass_rate": estimate.estimate,
        "ci_low": estimate.ci_low,
        "ci_high": estimate.ci_high,
        "bound_low": total / n_planned if n_planned else None,
        "bound_high": (total + n_planned - n_scored) / n_planned if n_planned else None,
        "baseline_pass_rate": _mean(compared),
        "n_compared": len(compared),
    }


def _given(rows: Iterable[Mapping[str, Any]], name: str) -> list[float]:
    return [row[name] for row in rows if name in row]


def _mean(values: Sequence[float]) -> float | None:
    # Exact sums: what comes out does not depend on the order of the rows.
    return math.fsum(values) / len(values) if values else None


def _total(values: Sequence[float]) -> float | None:
    return math.fsum(values) if values else None
