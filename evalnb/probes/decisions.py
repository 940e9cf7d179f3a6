"""From effects unit by unit to estimates, intervals and what is more than noise."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from evalnb.probes.shares import Share, spread
from evalnb.stats.estimates import Estimate, t_quantile
from evalnb.stats.paired_intervals import tango_interval
from evalnb.stats.sign_flip import sign_flip

if TYPE_CHECKING:
    from evalnb.probes.measures import Measure, Unit

__all__ = ["LEVEL", "MATTERS", "decided_row"]

LEVEL = 0.05
"""Up to this p, after Holm, an effect is none of chance."""
MATTERS = {"level": 0.25, "rate": 0.05}
"""Beyond this size an effect matters: of a level, of a rate."""

_CLOSE = 1e-9


def decided_row(measure: Measure) -> dict[str, Any]:
    """Return a row of probe effects, but for what depends on other rows.

    Parameters
    ----------
    measure : effects and floors by unit

    Returns
    -------
    estimate, interval, upper, n, n_left_out, floor, net, net_low, net_high, n_net, p, method, reason
    and warnings
        A rate of yes and no has Wilson's interval, with the effective number of answers where an
        item has several; a difference of such Tango's, all else Student's over items. `upper`, of
        shares, is the one-sided 95% bound of Clopper and Pearson, on the effective number. `p` is
        two-sided by the sign-flip test over items; of a share that should be 0 it is that of a rate
        of 5 points or less, by the binomial distribution on the effective number: one slip is no
        habit. NA `too_few` without a unit; intervals are NA `no_variance` where nothing
        varies and neither Wilson's nor Tango's serves.

    References
    ----------
    Fisher (1935), The Design of Experiments, section 21, on sign flips; Clopper & Pearson (1934),
    Biometrika 26(4); Korn & Graubard (1998), Survey Methodology 24(2), on effective numbers.
    """
    units = measure.units
    effect = units["effect"].to_numpy(dtype="float64", na_value=np.nan)
    items = units["item"].to_numpy(dtype=object)
    known = ~np.isnan(effect)
    row: dict[str, Any] = {
        "variant": measure.variant,
        "metric": measure.metric,
        "unit": measure.unit,
        "headline": measure.headline,
        "n": int(known.sum()),
        "n_left_out": int((~known).sum()),
    }
    if not known.any():
        return {**row, "reason": "too_few"}
    limits = (measure.low, measure.high)
    found, method, reason = _estimate(effect[known], items[known], measure.unit, limits)
    if measure.estimated is not None:
        found, method = measure.estimated, measure.method or ""
        reason = measure.reason or ("no_variance" if found.ci_low is None else None)
    row |= {**vars(found), "method": method, "reason": reason}
    is_share = measure.unit == "rate" and measure.low == 0
    share = Share.of(effect[known], items[known]) if is_share else None
    row["warnings"] = _none_seen(share)
    row["upper"] = None if share is None else share.upper()
    if "floor" not in units:
        net = dict(zip(("net", "net_low", "net_high"), vars(found).values(), strict=True))
        p = (
            _p_of_none(effect, items, known, measure)
            if share is None
            else share.p_above(MATTERS["rate"])
        )
        return {**row, "floor": 0.0, **net, "n_net": row["n"], "p": p}
    return row | _beyond_floor(effect, items, measure)


def _beyond_floor(effect: np.ndarray, items: np.ndarray, measure: Measure) -> dict[str, Any]:
    floor = measure.units["floor"].to_numpy(dtype="float64", na_value=np.nan)
    both = ~np.isnan(effect) & ~np.isnan(floor)
    if not both.any():
        return {}
    apart = effect[both] - floor[both]
    limits = (-1.0, 1.0) if measure.unit == "rate" else (None, None)
    net, _, _ = _estimate(apart, items[both], measure.unit, limits)
    return {
        "floor": float(floor[both].mean()),
        "net": net.estimate,
        "net_low": net.ci_low,
        "net_high": net.ci_high,
        "n_net": int(both.sum()),
        "p": _sign_flip_p(apart, items[both]),
    }


def _p_of_none(
    effect: np.ndarray, items: np.ndarray, known: np.ndarray, measure: Measure
) -> float | None:
    """Return the p of an effect that should be 0, where nothing is taken off it."""
    if measure.p is not None or measure.reason is not None:
        return measure.p
    weights = 1.0
    if "dose" in measure.units:  # of a slope, what each point says of it
        weights = measure.units["dose"].to_numpy(dtype="float64", na_value=np.nan)[known]
    return _sign_flip_p(effect[known] * weights, items[known])


def _sign_flip_p(values: np.ndarray, items: np.ndarray) -> float:
    return sign_flip(values, pd.factorize(items)[0]).p_two_sided


def _estimate(
    values: np.ndarray, items: np.ndarray, unit: Unit, limits: tuple[float | None, float | None]
) -> tuple[Estimate, str, str | None]:
    n, mean = len(values), float(values.mean())
    levels = set(np.unique(values))
    n_items = len(set(items))
    if limits[0] == 0 and levels <= {0, 1}:
        method = "wilson" if n == n_items else "wilson, effective n"
        return Share.of(values, items).wilson(), method, None
    if n == n_items and unit == "rate" and levels <= {-1, 0, 1}:
        found = tango_interval(int((values == 1).sum()), int((values == -1).sum()), n)
        return found, "tango", None
    around = spread(values - mean, items)
    if n_items < 2 or around < _CLOSE:
        why = "too_few" if n_items < 2 else "no_variance"
        return Estimate(mean, None, None), "t over items", why
    se = math.sqrt(n_items / (n_items - 1) * around) / n
    half = t_quantile(n_items - 1) * se
    low, high = (-math.inf if limits[0] is None else limits[0]), limits[1]
    high = math.inf if high is None else high
    return Estimate(mean, max(mean - half, low), min(mean + half, high)), "t over items", None


def _none_seen(share: Share | None) -> list[str] | None:
    """Bound a rate of which nothing was seen."""
    if share is None or share.mean > 0:
        return None
    within = "" if share.size == share.n else f" in {share.size:g} cases"
    return [f"none of {share.n}{within}: below {share.upper():.2f}, one-sided 95%"]
