"""What is said of a judge beside people in sentences: plain text, not escaped."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd

from evalnb.reports.numbers import count, decimal, difference, interval, tokens
from evalnb.reports.views import records

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["agreement_advice", "kappa_sentence"]

_SHIFTED = 0.5
_SAME_ORDER = 0.6
_VAGUE = 0.5
_LIMITED = 0.8
_UNKNOWN = {
    "no_overlap": "no item has both a label and a verdict",
    "too_few": "there is one labelled verdict only",
    "one_category": "people and the judge use one and the same level throughout",
}


def kappa_sentence(row: Mapping[str, Any]) -> str:
    """Say kappa with its interval, what the next grade needs, and what would bring it there.

    Parameters
    ----------
    row : of a frame that `evalnb.agreement.decisions` gives

    Examples
    --------
    >>> kappa_sentence(
    ...     {"estimate": 0.72, "ci_low": 0.55, "ci_high": 0.83, "n": 40, "decision": "revise",
    ...      "next_grade": "usable", "threshold": 0.6, "more_labels": 30, "reason": pd.NA}
    ... )  # doctest: +NORMALIZE_WHITESPACE
    'The judge agrees with people beyond chance at 0.72 (95%: 0.55 to 0.83, 40 labels). Usable needs
    0.60 at the lower end: about 30 more labels, or a sharper rubric.'
    """
    if pd.isna(row["estimate"]):
        why = _UNKNOWN.get(row["reason"], "too little is known")
        return f"Nothing can be said of the judge's agreement with people: {why}."
    known = "no interval" if pd.isna(row["ci_low"]) else interval(row["ci_low"], row["ci_high"])
    text = (
        f"The judge agrees with people beyond chance at {decimal(row['estimate'])} "
        f"(95%: {known}, {count(row['n'], 'label')})."
    )
    return " ".join([text, *_next(row)])


def agreement_advice(statistics: pd.DataFrame) -> list[str]:
    """Say what the statistics of one axis come to, where they show a pattern.

    Parameters
    ----------
    statistics : a metrics frame, as `evalnb.stats.agreement.agreement_statistics` gives it

    Returns
    -------
    sentences, each with what to do; none where no pattern is there
        One level dominates: kappa lies far below Gwet's coefficient. The scale is shifted: the
        order is right (Spearman from 0.6) and the bias half a level or more, its interval beside 0.
        The axis is vague: Spearman below 0.5, and so is the upper end of kappa. The scale is used
        differently: the levels used leave room for a kappa below 0.8 at most.
    """
    rows = {row["metric"]: row for row in records(statistics)}
    return [*_dominated(rows), *_shifted(rows), *_vague(rows), *_limited(rows)]


def _next(row: Mapping[str, Any]) -> Iterable[str]:
    if pd.isna(row["next_grade"]):
        grade = row["decision"]
        yield (
            "That is too low for any number of labels to lift it: sharpen the rubric."
            if grade == "revise"
            else f"That is {grade}."
        )
        return
    needs = f"{row['next_grade'].capitalize()} needs {decimal(row['threshold'])} at the lower end"
    if pd.isna(row["more_labels"]):
        yield f"{needs}: no number of labels is enough for that, a sharper rubric may be."
        return
    labels = "more label" if row["more_labels"] == 1 else "more labels"
    yield f"{needs}: about {tokens(row['more_labels'])} {labels}, or a sharper rubric."


def _dominated(rows: Mapping[str, Mapping[str, Any]]) -> Iterable[str]:
    for kappa, gwet in (("kappa_quadratic", "gwet_ac2"), ("kappa", "gwet_ac1")):
        low, high = _estimate(rows, kappa), _estimate(rows, gwet)
        share = _estimate(rows, "exact_agreement")
        if low is None or high is None or share is None or not _has_paradox(rows[kappa]):
            continue
        if high > low and share > 0.5:
            yield (
                f"{100 * share:.0f}% of verdicts match, yet kappa is {decimal(low)}, because one "
                "level dominates: guessing that one would match often as well. Label more items of "
                "the other levels."
            )
            return


def _shifted(rows: Mapping[str, Mapping[str, Any]]) -> Iterable[str]:
    order, bias = _estimate(rows, "spearman"), _estimate(rows, "bias")
    if order is None or bias is None or order < _SAME_ORDER or abs(bias) < _SHIFTED:
        return
    low, high = rows["bias"]["ci_low"], rows["bias"]["ci_high"]
    if pd.isna(low) or low <= 0 <= high:
        return
    way = "stricter" if bias < 0 else "kinder"
    yield (
        f"The judge puts the items in people's order (Spearman {decimal(order)}) and is {way} by "
        f"{decimal(abs(bias))} of a level: the scale is shifted. Describe the levels by examples, "
        "or correct for it."
    )


def _vague(rows: Mapping[str, Mapping[str, Any]]) -> Iterable[str]:
    order = _estimate(rows, "spearman")
    if order is None or order >= _VAGUE:
        return
    high = rows.get("kappa_quadratic", {}).get("ci_high")
    if pd.isna(high) or high < _VAGUE:
        yield (
            f"The judge does not put the items in people's order (Spearman {decimal(order)}): the "
            "axis is vague, to the judge or to people. Say what it is about, and what it is not."
        )


def _limited(rows: Mapping[str, Mapping[str, Any]]) -> Iterable[str]:
    most, kappa = _estimate(rows, "kappa_max"), _estimate(rows, "kappa_quadratic")
    if most is None or kappa is None or most >= _LIMITED:
        return
    bias = _estimate(rows, "bias")
    by = "" if bias is None else f" (on average {difference(bias)} of a level)"
    yield (
        f"The judge uses the levels otherwise than people{by}: even in perfect order kappa could "
        f"be {decimal(most)} at most. Say in the rubric how common each level is meant to be, or "
        "what earns it."
    )


def _estimate(rows: Mapping[str, Mapping[str, Any]], metric: str) -> float | None:
    value = rows.get(metric, {}).get("estimate")
    return None if value is None or pd.isna(value) else float(value)


def _has_paradox(row: Mapping[str, Any]) -> bool:
    warnings = row.get("warnings")
    return isinstance(warnings, list) and "paradox" in warnings
