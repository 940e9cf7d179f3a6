"""Scorer of rankings, and the retrieval metrics of a run."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from evalnb.frames import METRICS, to_records
from evalnb.scorers.base import NotApplicable, Score, listed
from evalnb.stats.estimates import mean_interval
from evalnb.stats.retrieval import (
    average_precision,
    hit_rate_at,
    ndcg_at,
    precision_at,
    recall_at,
    reciprocal_rank,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import pandas as pd

    from evalnb.cases import Case
    from evalnb.golden import GoldenSet, SuiteSettings
    from evalnb.systems import Output

__all__ = ["retrieval", "retrieval_metrics"]

_METHOD = "mean over cases with t interval"


def retrieval(case: Case, output: Output, settings: SuiteSettings) -> Score | NotApplicable:
    """Tell whether all `relevant_ids` are among the first k that were retrieved.

    k is the suite's `retrieval.k`; the value is nDCG@k, the reason has the other metrics.
    """
    if output.retrieved_ids is None:
        return NotApplicable("the system says nothing of what it retrieved")
    wanted, k = case.relevant_ids or [], settings.retrieval.k
    found = _metrics(k, output.retrieved_ids, wanted)
    first = list(dict.fromkeys(output.retrieved_ids))[:k]
    missing = [entry for entry in dict.fromkeys(wanted) if entry not in first]
    reason = ", ".join(f"{name} {value:.3g}" for name, value in found.items())
    if missing:
        reason = f"missing from the first {k}: {listed(missing)}; {reason}"
    return Score(found[f"ndcg@{k}"], not missing, reason)


def retrieval_metrics(golden: GoldenSet, outputs: pd.DataFrame) -> pd.DataFrame:
    """Sum up the rankings of a run over the cases that state `relevant_ids`.

    Parameters
    ----------
    golden : the cases; its settings say k
    outputs : an outputs frame

    Returns
    -------
    a metrics frame, a row each for recall, precision, hit rate and nDCG at k, the reciprocal rank
    and the average precision, all in [0, 1]
        A case's value is its mean over repeats. `n_left_out` counts cases without any ranking. The
        estimate is NA `no_relevant` where no case states `relevant_ids`, `no_overlap` where none
        that does has a ranking; the interval is NA `too_few` for a single case, `no_variance` where
        all cases have one value.

    References
    ----------
    Manning, Raghavan & Schütze (2008), Introduction to Information Retrieval, chapter 8.
    """
    wanted = {case.id: case.relevant_ids for case in golden if case.relevant_ids}
    k = golden.settings.retrieval.k
    values: dict[str, list[dict[str, float]]] = {}
    for row in to_records(outputs):
        ranked, relevant = row.get("retrieved_ids"), wanted.get(row["case_id"])
        if ranked is not None and relevant:
            values.setdefault(row["case_id"], []).append(_metrics(k, ranked, relevant))
    names = _metrics(k, [], [""])
    return METRICS.build(
        _summary(name, [_mean(row[name] for row in rows) for rows in values.values()], len(wanted))
        for name in names
    )


def _metrics(k: int, ranked: Sequence[str], relevant: Iterable[str]) -> dict[str, float]:
    grades: Mapping[str, float] = dict.fromkeys(relevant, 1.0)
    found = {
        f"recall@{k}": recall_at(k, ranked, grades),
        f"precision@{k}": precision_at(k, ranked, grades),
        f"hit_rate@{k}": hit_rate_at(k, ranked, grades),
        "reciprocal_rank": reciprocal_rank(ranked, grades),
        "average_precision": average_precision(ranked, grades),
        f"ndcg@{k}": ndcg_at(k, ranked, grades),
    }
    return {name: value for name, value in found.items() if value is not None}


def _summary(name: str, values: Sequence[float], n_planned: int) -> dict[str, Any]:
    interval = mean_interval(values, low=0.0, high=1.0)
    reason = None
    if not values:
        reason = "no_overlap" if n_planned else "no_relevant"
    elif interval.ci_low is None:
        reason = "too_few" if len(values) == 1 else "no_variance"
    return {
        "metric": name,
        "estimate": interval.estimate,
        "ci_low": interval.ci_low,
        "ci_high": interval.ci_high,
        "n": len(values),
        "n_left_out": n_planned - len(values),
        "method": _METHOD,
        "reason": reason,
    }


def _mean(values: Iterable[float]) -> float:
    found = list(values)
    return math.fsum(found) / len(found)
