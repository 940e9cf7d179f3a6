"""How answers shifted between two sides in length, refusals, language and formatting."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd

from evalnb.frames import METRICS, FrameSchema, to_records
from evalnb.shifts.features import features
from evalnb.stats.multiplicity import adjusted
from evalnb.stats.paired_means import paired_mean_row, paired_ratio_row

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evalnb.stats.values import Floats

__all__ = ["SHIFTS", "shifts"]

SHIFTS = FrameSchema(
    "shifts",
    {
        **METRICS.columns,
        "mean_a": "Float64",
        "mean_b": "Float64",
        "p_value": "Float64",
        "p_adjusted": "Float64",
    },
    key=METRICS.key,
)
"""A metrics frame of shifts: `estimate` is the second side's mean less the first's.

`p_adjusted` is Holm's over all rows. Of `length_ratio` the estimate is the geometric mean of the
cases' ratios, second over first, and 1 is no change.
"""


def shifts(
    first: pd.DataFrame,
    second: pd.DataFrame,
    *,
    refusal_phrases: Sequence[str] = (),
    seed: int = 0,
) -> pd.DataFrame:
    """Compare what answers are like, apart from what they say.

    Parameters
    ----------
    first, second : outputs frames
        Cases that one side has no answer to are left out and counted.
    refusal_phrases : the suite's own, beside the package's
    seed : of the signs drawn for p-values

    Returns
    -------
    a shifts frame : `characters`, `length_ratio`, `refusal`, then what occurs on either side of
        `no_text`, `json`, `language=` and `format=`
        Means are over cases of means over their repeats, in characters or as shares of answers.
        Intervals are Student's over cases, of shares where every case changed wholly or not at
        all Tango's; p-values by flipping the signs of cases. NA `too_few` without a case that
        both have; the interval of a length is NA `no_variance` where all cases changed alike.

    Examples
    --------
    >>> before = pd.DataFrame({"case_id": ["a", "b"], "repeat": 1, "text": "I do not know."})
    >>> after = before.assign(text="It is 4 days.")
    >>> found = shifts(before, after).set_index("metric")
    >>> float(found.loc["refusal", "estimate"]), float(found.loc["characters", "estimate"])
    (-1.0, -1.0)
    """
    sides = [_means(side, refusal_phrases) for side in (first, second)]
    both = sides[0].index.intersection(sides[1].index).sort_values()
    n_left_out = len(sides[0].index.union(sides[1].index)) - len(both)
    every = sorted({*sides[0].columns, *sides[1].columns} - {"characters", "refusal"})
    one, two = (
        side.reindex(index=both, columns=["characters", "refusal", *every], fill_value=0.0)
        for side in sides
    )
    rows = [
        row
        for name in one.columns
        for row in _rows(
            str(name), one[name].to_numpy("float64"), two[name].to_numpy("float64"), seed
        )
    ]
    raised = adjusted([row.get("p_value") for row in rows])["p_adjusted"].tolist()
    return SHIFTS.build(
        {**row, "p_adjusted": p, "n_left_out": n_left_out + row.get("n_left_out", 0)}
        for row, p in zip(rows, raised, strict=True)
    )


def _means(outputs: pd.DataFrame, refusal_phrases: Sequence[str]) -> pd.DataFrame:
    """Return the means of features over repeats; a row a case."""
    given = outputs[outputs["na_reason"].isna()] if "na_reason" in outputs else outputs
    found = [
        {
            "case_id": row["case_id"],
            **features(row.get("text"), row.get("stop_reason"), refusal_phrases),
        }
        for row in to_records(given)
    ]
    frame = pd.DataFrame(found, columns=None if found else ["case_id", "characters"])
    return frame.fillna(0.0).groupby("case_id", sort=True).mean()


def _rows(name: str, one: Floats, two: Floats, seed: int) -> list[dict[str, Any]]:
    if name != "characters":
        return [paired_mean_row(name, one, two, is_share=True, seed=seed)]
    return [
        paired_mean_row(name, one, two, seed=seed),
        paired_ratio_row("length_ratio", one, two, seed=seed),
    ]
