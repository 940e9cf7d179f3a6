"""Kappa over time: people's labels beside what the judges of each month said."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evalnb import agreement
from evalnb.errors import EvalnbError
from evalnb.frames import FrameSchema, to_records
from evalnb.joining import join_ratings
from evalnb.judges import suite_judges
from evalnb.ratings import JUDGE, AxisScale, raters
from evalnb.results import read_run

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    import pandas as pd

    from evalnb.golden import GoldenSet

__all__ = ["KAPPAS", "kappas_over_time"]

KAPPAS = FrameSchema(
    "kappas over time",
    {
        "month": "string",
        "axis": "string",
        "judge": "string",
        "judge_fingerprint": "string",
        "estimate": "Float64",
        "ci_low": "Float64",
        "ci_high": "Float64",
        "n": "Int64",
        "decision": "string",
        "reason": "string",
    },
    key=("month", "axis", "judge"),
)
"""A row a month, axis and judge: kappa of all labels given until then with the verdicts of the month's
last run, with its 95% interval and what it is good for."""


def kappas_over_time(
    golden: GoldenSet, root: Path, months: Sequence[tuple[str, str]], labels: pd.DataFrame
) -> pd.DataFrame:
    """Compute kappa month by month.

    Parameters
    ----------
    golden : the suite
    root : of results
    months : month, such as "2026-05", and the id of its last run that asked judges
    labels : a labels frame

    Returns
    -------
    as `KAPPAS` says; no rows for months before the first label
    """
    scales = {
        axis: AxisScale(tuple(range(low, high + 1)))
        for one in suite_judges(golden)
        for axis, (low, high) in one.scales.items()
    }
    rows: list[dict[str, Any]] = []
    for month, run_id in months:
        known = labels[labels["at"].str[:7] <= month].reset_index(drop=True)
        if len(known):
            rows += _month(golden, root, month, run_id, known, scales)
    return KAPPAS.build(rows)


def _month(
    golden: GoldenSet,
    root: Path,
    month: str,
    run_id: str,
    labels: pd.DataFrame,
    scales: dict[str, AxisScale],
) -> Iterator[dict[str, Any]]:
    try:
        scores = read_run(root / golden.settings.name / run_id).scores
    except EvalnbError:
        return
    ratings = join_ratings(labels, scores)
    fingerprints = dict(
        scores.dropna(subset=["judge_fingerprint"])[["scorer", "judge_fingerprint"]].itertuples(
            index=False, name=None
        )
    )
    for axis, scale in scales.items():
        for judge in raters(ratings, JUDGE, axis):
            own = ratings[ratings["axis"] == axis].reset_index(drop=True)
            found = agreement.decisions(own, judge, scales={axis: scale})
            for row in to_records(found):
                kept = {name: row.get(name) for name in KAPPAS.columns}
                yield kept | {"month": month, "judge_fingerprint": fingerprints.get(axis)}
