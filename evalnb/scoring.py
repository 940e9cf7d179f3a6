"""From outputs to scores, from scores to results and slices."""

from __future__ import annotations

import math
from functools import lru_cache
from operator import itemgetter
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from evalnb.frames import (
    RESULTS,
    SCORES,
    SLICES,
    NaReason,
    is_accident_record,
    is_advisory_record,
    to_records,
)
from evalnb.jsontext import writable_text
from evalnb.judges import suite_judges
from evalnb.panel import Panel
from evalnb.scorers import (
    SCORERS,
    MeasuredOutput,
    NotApplicable,
    Score,
    check_own_scorer,
    own_score,
    suite_scorers,
)
from evalnb.scorers.base import quoted
from evalnb.stats.case_states import state_over_repeats
from evalnb.stats.estimates import wilson
from evalnb.systems import Output, ToolCall

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    import pandas as pd

    from evalnb.cases import Case, Turn
    from evalnb.golden import GoldenSet, SuiteSettings
    from evalnb.judges import Judge
    from evalnb.scorers import OwnScorer, Scorer

__all__ = [
    "case_scorers",
    "fails_a_rule",
    "merged_verdict",
    "repeat_passes",
    "score",
    "scorer_names",
    "slices",
    "suite_own_scorers",
    "summarize",
    "verdict_of",
]

_SHOWN_ERROR = 160
_JUDGED = {"rubric": "rubric", "reference": "reference"}
"""Expectations that need a judge, with the name of the scorer that will have it."""

_NAMES = {expectation: scorer.name for expectation, scorer in SCORERS.items()} | _JUDGED


def score(
    golden: GoldenSet,
    outputs: pd.DataFrame,
    scorers: Mapping[str, OwnScorer] | None = None,
    *,
    verdicts: pd.DataFrame | None = None,
    judges: Sequence[Judge] | None = None,
) -> pd.DataFrame:
    """Score every output by every expectation that its case states, and by its judges.

    Expectations of turns are scored on the output of their turn, those of the case on the whole;
    where a scorer has several parts to decide on, its row has the mean of their values, and
    passes when all of them pass.

    Parameters
    ----------
    golden : the cases
    outputs : an outputs frame
    scorers : name to a function of case and output, beside those of the suite's `[scorers]`; it
        returns a `Score`, True or False, a number in [0, 1], or None where it does not apply
    verdicts : a verdicts frame of these outputs and of the cases as they are; those of another
        output or judge do not count. After a change of cases, `evalnb.rescore` asks again.
    judges : who gave the verdicts; by default the judges of the suite

    Returns
    -------
    a scores frame, in the order of `outputs`
        Where an output is NA, each of its scores is NA for the same reason. A judge's score is NA
        `skipped_by_rule` where a rule already failed and no verdict is there, else `no_judge`
        without a verdict. Of several verdicts of one judge the mean counts.

    Raises
    ------
    KeyError
        If an output belongs to no case of `golden`.
    ValueError, TypeError
        If a scorer's name is taken, or it is no function.
    InputError
        If a scorer of the suite cannot be imported.
    """
    judges = suite_judges(golden) if judges is None else judges
    own = _own_scorers(golden, scorers or {}, judges)
    panel = Panel(golden.settings.judging, judges, verdicts)
    return SCORES.build(
        row
        for output in to_records(outputs)
        for row in _score_output(golden[output["case_id"]], output, golden.settings, own, panel)
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
    outputs_of = _by_case(outputs[["case_id", "repeat", *_TAKEN]])
    scores_of = _by_case(scores[["case_id", "repeat", *_DECIDED]])
    return RESULTS.build(
        _result(
            case,
            outputs_of.get(case.id, []),
            scores_of.get(case.id, []),
            golden.settings.passes_needed,
        )
        for case in golden
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
    rows = to_records(results[["case_id", "pass_rate", *fields]])
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


def suite_own_scorers(golden: GoldenSet) -> dict[str, OwnScorer]:
    """Return the scorers that a suite names in `[scorers]`."""
    return _own_scorers(golden, {}, suite_judges(golden))


def fails_a_rule(
    golden: GoldenSet, output: Mapping[str, Any], own: Mapping[str, OwnScorer]
) -> bool:
    """Tell whether a rule already fails an output, so that no judge need be asked.

    Parameters
    ----------
    golden : the suite
    output : a record of an outputs frame
    own : scorers of the suite's own
    """
    case = golden[output["case_id"]]
    verdicts = _rule_verdicts(case, _output(output), golden.settings, own)
    return _some_failed(verdicts)


def scorer_names(case: Case) -> Mapping[str, str]:
    """Return the scorer of each expectation that a case states, by the expectation's field."""
    return _scorer_names(case.expectations)


@lru_cache(maxsize=4096)
def _scorer_names(expectations: tuple[str, ...]) -> Mapping[str, str]:
    return MappingProxyType({name: _NAMES[name] for name in expectations})


def case_scorers(golden: GoldenSet, case: Case, judges: Sequence[Judge] | None = None) -> list[str]:
    """Name the scorers that a case has rows of.

    Those of its expectations, the suite's own, and those of the judges that the case is for.
    """
    judges = suite_judges(golden) if judges is None else judges
    judged = (name for judge in judges if judge.applies_to(case) for name in judge.scorers)
    return list(dict.fromkeys([*scorer_names(case).values(), *golden.settings.scorers, *judged]))


def _own_scorers(
    golden: GoldenSet, given: Mapping[str, OwnScorer], judges: Sequence[Judge]
) -> dict[str, OwnScorer]:
    taken = frozenset(_NAMES.values()).union(*(judge.scorers for judge in judges))
    own = suite_scorers(golden, taken)
    for name, function in given.items():
        check_own_scorer(name, function, taken | own.keys())
    return {**own, **given}


def _score_output(
    case: Case,
    row: Mapping[str, Any],
    settings: SuiteSettings,
    own: Mapping[str, OwnScorer],
    panel: Panel,
) -> Iterator[dict[str, Any]]:
    shared = {name: row[name] for name in _SHARED if name in row}
    names = scorer_names(case)
    judged = panel.scorers(case)
    every = [*names.values(), *own, *(name for name in judged if name not in names.values())]
    if "na_reason" in row:
        found = {"na_reason": row["na_reason"], "error": row.get("error")}
        for name in every:
            tier = "judge" if name in judged or name in _JUDGED.values() else "rule"
            yield {**shared, "scorer": name, "tier": tier, **found}
        return
    # All rules come before any judge, wherever the case states them.
    verdicts = _rule_verdicts(case, _output(row), settings, own)
    unjudged = NaReason.SKIPPED_BY_RULE if _some_failed(verdicts) else NaReason.NO_JUDGE
    given = panel.scores(case, row)
    for name in every:
        if name in verdicts:
            yield {**shared, "scorer": name, "tier": "rule", **verdicts[name]}
        else:
            judge_score = given.get(name, {"na_reason": unjudged})
            yield {**shared, "scorer": name, "tier": "judge", **judge_score}


def _rule_verdicts(
    case: Case,
    output: MeasuredOutput,
    settings: SuiteSettings,
    own: Mapping[str, OwnScorer],
) -> dict[str, dict[str, Any]]:
    """Return what each rule says of an output, by the scorer's name."""
    verdicts = {
        name: _scored(SCORERS[expectation], expectation, case, output, settings)
        for expectation, name in scorer_names(case).items()
        if expectation not in _JUDGED
    }
    for name, function in own.items():
        verdicts[name] = verdict_of(output, own_score, name, function, case, output)
    return verdicts


def _some_failed(verdicts: Mapping[str, Mapping[str, Any]]) -> bool:
    return any(verdict.get("passed") is False for verdict in verdicts.values())


_SHARED = ("run_id", "case_id", "repeat", "output_hash")


def _output(row: Mapping[str, Any]) -> MeasuredOutput:
    return MeasuredOutput(
        row.get("text"),
        _tool_calls(row),
        row.get("messages", ()),
        row.get("stop_reason"),
        retrieved_ids=row.get("retrieved_ids"),
        turns=[
            Output(turn.get("text"), _tool_calls(turn), stop_reason=turn.get("stop_reason"))
            for turn in row.get("turns", ())
        ],
        output_tokens=row.get("output_tokens"),
        latency_ms=row.get("latency_ms"),
    )


def _tool_calls(row: Mapping[str, Any]) -> list[ToolCall]:
    return [ToolCall(call["name"], call["arguments"]) for call in row.get("tool_calls") or ()]


def _scored(
    scorer: Scorer, expectation: str, case: Case, output: MeasuredOutput, settings: SuiteSettings
) -> dict[str, Any]:
    if case.turns is None:
        return verdict_of(output, scorer.function, case, output, settings)
    turns = [
        (number, turn)
        for number, turn in enumerate(case.turns, 1)
        if getattr(turn, expectation, None) is not None
    ]
    parts = [_scored_turn(scorer, number, turn, output, settings) for number, turn in turns]
    if getattr(case, expectation) is not None:
        whole = verdict_of(output, scorer.function, case, output, settings)
        parts.insert(0, _said_of("all turns", whole) if turns else whole)
    return merged_verdict(parts)


def _scored_turn(
    scorer: Scorer, number: int, turn: Turn, output: MeasuredOutput, settings: SuiteSettings
) -> dict[str, Any]:
    if not output.turns:
        error = "the output says nothing of its turns: the system has to play them; run it again"
        return {"na_reason": NaReason.SCORER_ERROR, "error": error}
    if number > len(output.turns):
        why = f" ({output.turns[-1].stop_reason})" if output.turns[-1].stop_reason else ""
        ended = f"the conversation ended at turn {len(output.turns)}{why}"
        reason = f"turn {number} was not played: {ended}"
        return {"value": 0.0, "raw_value": 0.0, "passed": False, "reason": reason}
    played = output.turns[number - 1]
    measured = MeasuredOutput(played.text, played.tool_calls, stop_reason=played.stop_reason)
    verdict = verdict_of(measured, scorer.function, turn, measured, settings)
    return _said_of(f"turn {number}", verdict)


def _said_of(part: str, verdict: dict[str, Any]) -> dict[str, Any]:
    where = "error" if "na_reason" in verdict else "reason"
    return {**verdict, where: f"{part}: {verdict[where]}"}


def merged_verdict(parts: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Make one verdict of several parts; one that is missing leaves the whole undecided.

    Parameters
    ----------
    parts : of `verdict_of`, at least one
    """
    missing = next((part for part in parts if "na_reason" in part), None)
    if missing is not None:
        return missing
    failed = [part for part in parts if not part["passed"]]
    return {
        "value": math.fsum(part["value"] for part in parts) / len(parts),
        "raw_value": math.fsum(part["raw_value"] for part in parts) / len(parts),
        "passed": not failed,
        "reason": "; ".join(part["reason"] for part in failed or parts),
    }


def verdict_of(
    output: Output, function: Callable[..., Score | NotApplicable], *arguments: Any
) -> dict[str, Any]:
    """Ask a scorer; its failure is a verdict with a reason.

    Parameters
    ----------
    output : what is scored
    function : of a scorer
    *arguments : what it takes

    Returns
    -------
    value, raw_value, passed and reason; or na_reason and error
    """
    try:
        scored = function(*arguments)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - a failure is a row with a reason
        return {
            "na_reason": NaReason.SCORER_ERROR,
            "error": writable_text(f"{type(error).__name__}: {error}"),
        }
    if isinstance(scored, NotApplicable):
        return {"na_reason": NaReason.NOT_APPLICABLE, "error": scored.why}
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


_TAKEN = ("latency_ms", "input_tokens", "output_tokens", "cost_usd")
_DECIDED = ("scorer", "tier", "advisory", "value", "passed", "reason", "na_reason", "error")


def _by_case(frame: pd.DataFrame) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for row in to_records(frame):
        found.setdefault(row["case_id"], []).append(row)
    for rows in found.values():
        if len(rows) > 1:
            rows.sort(key=itemgetter("repeat"))
    return found


def _result(
    case: Case,
    outputs: Sequence[dict[str, Any]],
    scores: Sequence[dict[str, Any]],
    needed: int | None,
) -> dict[str, Any]:
    scores = _in_order(case, scores)
    passes = repeat_passes(scores)
    missing = [row for row in scores if "na_reason" in row]
    n_accident = sum(map(is_accident_record, missing))
    state = state_over_repeats(sum(passes), len(passes), len(outputs), needed)
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
        "n_na_plan": len(missing) - n_accident,
        "n_na_accident": n_accident,
        "reasons": _reasons(scores),
    }


def _in_order(case: Case, scores: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Sort the scores of a case by repeat, then as `score` gives them."""
    names = [*scorer_names(case).values()]
    return sorted(
        scores,
        key=lambda row: (
            row["repeat"],
            names.index(row["scorer"]) if row["scorer"] in names else len(names),
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
        A repeat is scored when something decided on it and nothing that decides is missing by
        accident. A judge without a valid certificate decides on no repeat.
    """
    repeats: dict[int, list[Mapping[str, Any]]] = {}
    for row in scores:
        if not is_advisory_record(row):
            repeats.setdefault(row["repeat"], []).append(row)
    return [
        all(row["passed"] for row in rows if "passed" in row)
        for _, rows in sorted(repeats.items())
        if any("passed" in row for row in rows) and not any(map(is_accident_record, rows))
    ]


def _mean_scores(scores: Iterable[Mapping[str, Any]]) -> dict[str, float]:
    values: dict[str, list[float]] = {}
    for row in scores:
        if "value" in row:
            values.setdefault(row["scorer"], []).append(row["value"])
    return {name: math.fsum(entries) / len(entries) for name, entries in values.items()}


def _reasons(scores: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return what failed and what is missing by accident, each once."""
    lines = [
        f"{_scorer_words(row)}: not scored, {_why_missing(row)}"
        if "na_reason" in row
        else f"{_scorer_words(row)}: {row['reason']}"
        for row in scores
        if row.get("passed") is False or is_accident_record(row)
    ]
    return list(dict.fromkeys(lines))


def _scorer_words(row: Mapping[str, Any]) -> str:
    return f"{row['scorer']} (advisory)" if is_advisory_record(row) else str(row["scorer"])


def _why_missing(row: Mapping[str, Any]) -> str:
    error = row.get("error")
    return f"{row['na_reason']}: {quoted(error, limit=_SHOWN_ERROR)}" if error else row["na_reason"]


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
