"""Pass rates corrected by human labels of some of the cases that a judge decided on.

Labels must be drawn at random, from all cases or within strata that are named. Labels of failures
or disagreements only tell no rate, unless these are strata with known weights.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from evalnb.frames import METRICS, FrameSchema
from evalnb.stats.estimates import Estimate, jeffreys, wilson
from evalnb.stats.post_stratified import Cells
from evalnb.stats.strata import Strata, find_strata
from evalnb.stats.values import Floats, flags

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd

__all__ = ["CORRECTED_RATES", "FEW_LABELS", "Target", "corrected_pass_rate", "verdict_rates"]

Target: TypeAlias = Literal["system", "cases"]

FEW_LABELS = 5
"""Below so many labels the pass rate within a verdict is hardly known."""

CORRECTED_RATES = FrameSchema(
    "corrected rates",
    {
        **METRICS.columns,
        "se": "Float64",
        "n_cases": "Int64",
        "n_labels": "Int64",
        "target": "string",
    },
    key=METRICS.key,
)
"""A metrics frame; `se` is the standard error by the delta method.

`n_cases` counts the cases with a verdict, `n_labels` those of them with a label; `target` says what
the corrected rate is of: the `system` in general, or these `cases`.
"""


def corrected_pass_rate(
    judged: Sequence[Any] | pd.Series | np.ndarray,
    labels: Sequence[Any] | pd.Series | np.ndarray,
    *,
    strata: Sequence[Any] | pd.Series | np.ndarray | None = None,
    weights: Mapping[Any, float] | pd.Series | None = None,
    target: Target = "system",
    seed: int = 0,
) -> pd.DataFrame:
    """Return the pass rate that people would give, from a judge's verdicts and some labels.

    Post-stratified: the share of each verdict times the pass rate of labels within it. The
    interval draws the rates, and for `target="system"` the shares, from their posteriors under
    Jeffreys' priors, 100,000 times. In simulations it covers 94 to 97% from 30 labels on.

    Parameters
    ----------
    judged : whether the judge passed each case, NA where it gave no verdict
    labels : whether a person passed it, NA where nobody looked; of the same cases in their order
    strata : the stratum that each case was drawn for labelling in, where some were likelier
        drawn than others; cells are then strata times verdicts, and the prior of a verdict is
        divided among its cells. With fewer than about 5 labels in a cell the interval covers a
        little less, 91 to 95% in simulations. Without such a draw, leave strata out.
    weights : known shares of the strata, by stratum; without, their shares of these cases
    target : {"system", "cases"}
        What is asked of: the system in general, of which the cases are a sample, or these cases
        only, whose verdicts are all there.
    seed : of the draws

    Returns
    -------
    rows raw, labels_only, corrected, as `CORRECTED_RATES` says; estimates in [0, 1]
        `raw` is the judge's pass rate, `labels_only` that of the labels, both with Wilson's
        interval; with strata `labels_only` weighs them, and with weights `raw` does, by the same
        draws. `n` is the number of cases for `raw` and of labels for the others; `n_left_out`
        counts cases without a verdict. NA `too_few` without a case or label. Where a verdict has
        cases and no label, `corrected` is NA `too_few`, its interval rests on the prior, and the
        warning is `verdict_without_label`; the warning `few_labels` is for a verdict with fewer
        than 5. With strata this is said of each verdict in each stratum.

    Raises
    ------
    ValueError
        If a verdict or label is neither True nor False, lengths differ, a case has no stratum or
        the weights are not those of the strata.

    References
    ----------
    Cochran (1977), Sampling Techniques, 5A.9; Brown, Cai & DasGupta (2001), Statistical Science
    16(2), on the prior.

    Examples
    --------
    >>> judged = [True] * 75 + [False] * 25
    >>> labels = [True] * 18 + [False] * 2 + [None] * 55 + [False] * 8 + [True] * 2 + [None] * 15
    >>> found = corrected_pass_rate(judged, labels).set_index("metric")
    >>> round(float(found.loc["corrected", "estimate"]), 3)  # 0.75 * 18/20 + 0.25 * 2/10
    0.725
    """
    if target not in ("system", "cases"):
        raise ValueError(f"`target` must be system or cases. Got {target!r}.")
    verdicts, people, usable = _aligned(judged, labels)
    groups = find_strata(strata, weights, usable)
    labelled = ~np.isnan(people)
    drawn = target == "system"
    rng = np.random.default_rng(seed)
    corrected = _corrected(verdicts, people, groups, rng, drawn=drawn)
    shared = {
        "n_left_out": int((~usable).sum()),
        "n_cases": len(verdicts),
        "n_labels": int(labelled.sum()),
        "target": target,
    }
    rows = [
        {"metric": "raw", "n": len(verdicts), **_raw(verdicts, groups, rng)},
        {"metric": "labels_only", **_labels_only(people, groups, rng, drawn=drawn)},
        {"metric": "corrected", **corrected},
    ]
    return CORRECTED_RATES.build({"n": shared["n_labels"], **row, **shared} for row in rows)


def verdict_rates(
    judged: Sequence[Any] | pd.Series | np.ndarray, labels: Sequence[Any] | pd.Series | np.ndarray
) -> pd.DataFrame:
    """Return how many verdicts are passes, and how often people pass what the judge did or did not.

    Parameters
    ----------
    judged, labels : as in `corrected_pass_rate`

    Returns
    -------
    rows judge_pass_share, pass_given_judged_pass, pass_given_judged_fail, a metrics frame
        With Jeffreys' intervals; NA `too_few` without a case, or without a label of the verdict.
        `n_left_out` counts cases without a verdict.

    Examples
    --------
    >>> verdict_rates([True, True, False], [True, None, None])["estimate"].tolist()
    [0.6666666666666666, 1.0, <NA>]
    """
    verdicts, people, usable = _aligned(judged, labels)
    groups = {
        "judge_pass_share": verdicts,
        "pass_given_judged_pass": people[~np.isnan(people) & (verdicts == 1)],
        "pass_given_judged_fail": people[~np.isnan(people) & (verdicts == 0)],
    }
    shared = {"n_left_out": int((~usable).sum()), "method": "jeffreys"}
    return METRICS.build(
        {
            "metric": name,
            **vars(jeffreys(int(values.sum()), len(values))),
            "n": len(values),
            "reason": None if len(values) else "too_few",
            **shared,
        }
        for name, values in groups.items()
    )


def _aligned(judged: Any, labels: Any) -> tuple[Floats, Floats, np.ndarray]:
    """Return verdicts and labels of the cases with a verdict, and which cases these are."""
    verdicts, people = flags(judged, "judged"), flags(labels, "labels")
    if len(verdicts) != len(people):
        raise ValueError(
            f"`judged` and `labels` must be of the same cases. "
            f"Got {len(verdicts)} and {len(people)}."
        )
    usable = ~np.isnan(verdicts)
    return verdicts[usable], people[usable], usable


def _raw(verdicts: Floats, groups: Strata, rng: np.random.Generator) -> dict[str, Any]:
    if groups.weights is None:
        return _wilson(verdicts)
    passes, fails = (groups.counts(verdicts == value)[:, None] for value in (1, 0))
    cells = Cells(passes + fails, passes, fails, groups.weights)
    return {**_weighted(cells, rng, drawn=False), "method": "strata, jeffreys draws"}


def _labels_only(
    people: Floats, groups: Strata, rng: np.random.Generator, *, drawn: bool
) -> dict[str, Any]:
    if len(groups.names) < 2:
        return _wilson(people[~np.isnan(people)])
    passes, fails = (groups.counts(people == value)[:, None] for value in (1, 0))
    cells = Cells(groups.counts()[:, None], passes, fails, groups.weights)
    return {**_weighted(cells, rng, drawn=drawn), "method": "strata, jeffreys draws"}


def _wilson(values: Floats) -> dict[str, Any]:
    found: Estimate = wilson(float(values.sum()), len(values))
    reason = None if len(values) else "too_few"
    return {**vars(found), "method": "wilson", "reason": reason}


def _corrected(
    verdicts: Floats, people: Floats, groups: Strata, rng: np.random.Generator, *, drawn: bool
) -> dict[str, Any]:
    shares = "shares drawn" if drawn else "shares fixed"
    row: dict[str, Any] = {"method": f"post_stratified, jeffreys draws, {shares}"}
    if not len(verdicts):
        return {**row, "reason": "too_few"}
    cases, passes, fails = (
        np.stack([groups.counts(where & (verdicts == verdict)) for verdict in (0, 1)], axis=-1)
        for where in (verdicts >= 0, people == 1, people == 0)
    )
    cells = Cells(cases, passes, fails, groups.weights)
    row |= _weighted(cells, rng, drawn=drawn)
    n_labels = (passes + fails)[cells.shares() > 0]
    warnings = ["verdict_without_label"] * bool((n_labels == 0).any())
    warnings += ["few_labels"] * bool(((n_labels > 0) & (n_labels < FEW_LABELS)).any())
    return {**row, "warnings": warnings or None}


def _weighted(cells: Cells, rng: np.random.Generator, *, drawn: bool) -> dict[str, Any]:
    low, high = cells.interval(rng, drawn=drawn)
    row: dict[str, Any] = {"ci_low": float(low), "ci_high": float(high)}
    if cells.without_labels().any():
        return {**row, "reason": "too_few"}
    return {**row, "estimate": float(cells.rate()), "se": float(cells.error(drawn=drawn))}
