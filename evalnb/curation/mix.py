"""Whether traffic has another mix of categories or languages than the golden set."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

from evalnb.curation.candidates.conversations import conversations
from evalnb.curation.candidates.languages import base_language, spoken_languages
from evalnb.curation.candidates.vectors import case_text
from evalnb.frames import to_records
from evalnb.reports.numbers import difference, interval, p_value, rate
from evalnb.reports.text import one_line
from evalnb.shifts import language_of
from evalnb.stats.drift import category_drift, category_mix

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pandas as pd

    from evalnb.cases import Case

__all__ = ["Mix", "describe_mix", "traffic_mix"]


class Mix(NamedTuple):
    """How the mix of traffic differs from that of the golden set.

    Attributes
    ----------
    by : `category` or `language`
    drift : of `evalnb.stats.drift.category_drift`
    mix : of `evalnb.stats.drift.category_mix`
    """

    by: str
    drift: pd.DataFrame
    mix: pd.DataFrame


def traffic_mix(
    logs: pd.DataFrame,
    cases: Iterable[Case],
    *,
    by: Literal["category", "language"],
    seed: int = 0,
) -> Mix:
    """Compare the mix of categories or languages of traffic with that of a golden set.

    Parameters
    ----------
    logs : a logs frame, of a uniform sample
    cases : a golden set
    by : {"category", "language"}
        Languages are told from texts where logs or cases do not name them.
    seed : of resampling

    Returns
    -------
    NA where a side has none, with the reason; what has no category or language is left out and
    counted

    Raises
    ------
    ValueError
        If `by` is another word.
    """
    cases = list(cases)
    if by == "category":
        golden = [case.category for case in cases]
        traffic = conversations(logs)["category"].tolist()
    elif by == "language":
        golden = [_language(case) for case in cases]
        traffic = spoken_languages(logs)["language"].tolist()
    else:
        raise ValueError(f"`by` must be category or language. Got {by!r}.")
    return Mix(by, category_drift(golden, traffic, seed=seed), category_mix(golden, traffic))


def describe_mix(found: Mix) -> list[str]:
    """Say in words whether the mix differs, and which kinds have another share."""
    rows = {row["metric"]: row for row in to_records(found.drift)}
    test = rows["chi_squared"]
    if "estimate" not in test:
        return [f"{found.by}: nothing to compare ({test['reason']})"]
    divergence = rows["js_divergence_bits"]
    span = interval(divergence["ci_low"], divergence["ci_high"])
    lines = [
        (
            f"{found.by}: divergence {rate(divergence['estimate'])} bits ({span}), "
            f"{p_value(test['p_value'])}, n = {test['n']:,}, {test['n_left_out']:,} without any"
        )
    ]
    lines += [
        f"  {one_line(row['category'])}: {rate(row['share_traffic'])} of traffic, "
        f"{rate(row['share_golden'])} of the golden set: {difference(row['difference'])} "
        f"({interval(row['ci_low'], row['ci_high'])})"
        for row in to_records(found.mix)
        if row["ci_low"] > 0 or row["ci_high"] < 0
    ]
    return lines


def _language(case: Case) -> str | None:
    return base_language(case.language) if case.language else language_of(case_text(case))
