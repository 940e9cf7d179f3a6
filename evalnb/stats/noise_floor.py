"""Which effects on a judge are more than its own noise, and which of these matter."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from evalnb.frames import FrameSchema
from evalnb.stats.effects import EFFECTS
from evalnb.stats.multiplicity import adjusted
from evalnb.stats.paired_intervals import tango_interval
from evalnb.stats.resampling import RESAMPLES, Patterns, bootstrap, quantiles
from evalnb.stats.scales import cluster_numbers
from evalnb.stats.sign_flip import sign_flip
from evalnb.stats.values import numbers

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evalnb.stats.values import Floats

__all__ = ["ABOVE_FLOOR", "LEVEL_SIZE", "RATE_SIZE", "effects_above_floor"]

LEVEL_SIZE = 0.25
"""A shift of scores that matters, in levels."""

RATE_SIZE = 0.05
"""A change of a rate that matters."""

ABOVE_FLOOR = FrameSchema(
    "effects above the floor",
    {
        **EFFECTS.columns,
        "effect": "Float64",
        "floor": "Float64",
        "p_adjusted": "Float64",
        "size": "Float64",
        "real": "boolean",
        "matters": "boolean",
    },
    key=EFFECTS.key,
)
"""An effects frame with a row a probe; `estimate` is `effect` minus `floor`.

`effect` and `floor` are means over the items that the estimate rests on. `p_adjusted` is Holm's over
the probes. `real` says that the difference is more than noise, `matters` that it is also larger than
`size`.
"""

_ROUNDING = 1e-9


def effects_above_floor(
    items: pd.DataFrame, sizes: Mapping[str, float], *, level: float = 0.05, seed: int = 0
) -> pd.DataFrame:
    """Compare what each probe does to a judge with what the judge does unprovoked.

    Parameters
    ----------
    items : columns probe, item, effect, floor and, where items share one, cluster
        A row a probe and item. `effect` is what changed with the probe, `floor` the same figure
        between repeats of the unchanged item: a flip as 0 or 1 or the share of repeats that flip, a
        shift of the score in levels. NA where there is none.
    sizes : by probe, the size above which an effect matters, such as `RATE_SIZE` or `LEVEL_SIZE`
    level : in (0, 1), the error rate over all probes
    seed : of resampling

    Returns
    -------
    a row a probe in order of appearance, as `ABOVE_FLOOR` says
        Effect and floor are paired where two items or more have both; other items are then left out
        and counted. The interval is Tango's where all values are 0 or 1, else the percentiles of
        10,000 resamples of items (or clusters), NA `no_variance` where all differences are the
        same; the p-value is the sign-flip test. Where fewer items have both, the sides are
        resampled apart and the p-value is that of a permutation. NA `no_overlap` where a side has no item,
        `too_few` where one has a single one; such probes are not counted by Holm.
        `real`: `p_adjusted` is at most `level` and no interval contains 0.

    Raises
    ------
    ValueError
        If a column or a size is missing, an item has two rows of a probe, or a value is no finite
        number.

    References
    ----------
    Efron & Tibshirani (1993), An Introduction to the Bootstrap, chapter 13; Holm (1979),
    Scandinavian Journal of Statistics 6(2).

    Examples
    --------
    >>> items = pd.DataFrame({"probe": "order", "item": range(12), "effect": 1, "floor": [0] * 11 + [1]})
    >>> found = effects_above_floor(items, {"order": RATE_SIZE}).loc[0]
    >>> float(found["estimate"].round(3)), bool(found["real"]), bool(found["matters"])
    (0.917, True, True)
    """
    _check(items, sizes)
    rows = [
        {"metric": str(probe), "size": sizes[str(probe)], **_Probe.of(group, seed).row()}
        for probe, group in items.groupby("probe", sort=False)
    ]
    holm = adjusted([row.get("p_value") for row in rows], level=level)
    for row, p_adjusted in zip(rows, holm["p_adjusted"], strict=True):
        if pd.isna(p_adjusted):
            continue
        excluded = row.get("ci_low") is None or not row["ci_low"] <= 0 <= row["ci_high"]
        real = bool(p_adjusted <= level) and excluded
        matters = real and abs(row["estimate"]) > row["size"]
        row |= {"p_adjusted": float(p_adjusted), "real": real, "matters": matters}
    return ABOVE_FLOOR.build(rows)


@dataclass(frozen=True)
class _Probe:
    """Effects and floors of one probe, NaN where missing, with the cluster of each item."""

    effect: Floats
    floor: Floats
    clusters: np.ndarray | None
    seed: int

    @classmethod
    def of(cls, group: pd.DataFrame, seed: int) -> _Probe:
        clusters = group["cluster"].to_numpy("object") if "cluster" in group else None
        return cls(
            numbers(group["effect"], "effect"), numbers(group["floor"], "floor"), clusters, seed
        )

    def row(self) -> dict[str, Any]:
        both = ~np.isnan(self.effect - self.floor)
        return self._paired(both) if both.sum() > 1 else self._apart()

    def _paired(self, both: np.ndarray) -> dict[str, Any]:
        effect, floor = self.effect[both], self.floor[both]
        codes = None if self.clusters is None else cluster_numbers(self.clusters[both], len(effect))
        units = len(effect) if codes is None else int(codes.max()) + 1
        row = self._start(effect, floor, len(effect)) | {
            "n_clusters": None if codes is None else units
        }
        if units < 2:
            return row | {"reason": "too_few", "method": "paired"}
        differences = effect - floor
        row["p_value"] = sign_flip(differences, codes, seed=self.seed).p_two_sided
        if codes is None and _are_flags(effect) and _are_flags(floor):
            found = tango_interval(
                int((differences > 0).sum()), int((differences < 0).sum()), units
            )
            return row | vars(found) | {"method": "tango, p by sign flips"}
        row["method"] = "paired bootstrap, p by sign flips"
        if np.ptp(differences) < _ROUNDING:
            return row | {"reason": "no_variance"}
        return row | _percentiles(_means(differences, codes, self.seed))

    def _apart(self) -> dict[str, Any]:
        effect = self.effect[~np.isnan(self.effect)]
        floor = self.floor[~np.isnan(self.floor)]
        row = self._start(
            effect, floor, int((~np.isnan(self.effect) | ~np.isnan(self.floor)).sum())
        )
        row["method"] = "bootstrap of either side, p by permutation"
        if min(len(effect), len(floor)) < 2:
            reason = "too_few" if len(effect) and len(floor) else "no_overlap"
            return row | {"reason": reason}
        row["p_value"] = _permutation_p(effect, floor, self.seed)
        if np.ptp(effect) == 0 and np.ptp(floor) == 0:
            return row | {"reason": "no_variance"}
        sides = _means(effect, None, self.seed), _means(floor, None, self.seed + 1)
        return row | _percentiles(sides[0] - sides[1])

    def _start(self, effect: Floats, floor: Floats, n: int) -> dict[str, Any]:
        row: dict[str, Any] = {"n": n, "n_left_out": len(self.effect) - n}
        if len(effect):
            row["effect"] = float(effect.mean())
        if len(floor):
            row["floor"] = float(floor.mean())
        if len(effect) and len(floor):
            row["estimate"] = row["effect"] - row["floor"]
        return row


def _check(items: pd.DataFrame, sizes: Mapping[str, float]) -> None:
    missing = [name for name in ("probe", "item", "effect", "floor") if name not in items]
    if missing:
        raise ValueError(f"items need the columns probe, item, effect, floor. Missing: {missing}.")
    unknown = [str(probe) for probe in items["probe"].unique() if str(probe) not in sizes]
    if unknown:
        raise ValueError(f"`sizes` must say what matters for each probe. Missing: {unknown}.")
    if items.duplicated(["probe", "item"]).any():
        raise ValueError("an item has one row for each probe: take the mean over its repeats.")


def _are_flags(values: Floats) -> bool:
    return bool(((values == 0) | (values == 1)).all())


def _means(values: Floats, codes: np.ndarray | None, seed: int) -> Floats:
    """Return means over items, or clusters of them, drawn with replacement."""
    patterns = Patterns.of(values[:, None], codes)
    kinds = patterns.rows[:, 0]
    return bootstrap(patterns, lambda counts: counts @ kinds / counts.sum(axis=1), seed=seed)


def _percentiles(draws: Floats) -> dict[str, Any]:
    low, high = quantiles(draws, 0.025, 0.975)
    return {"ci_low": low, "ci_high": high}


def _permutation_p(effect: Floats, floor: Floats, seed: int) -> float:
    rng, values = np.random.default_rng(seed), np.concatenate([effect, floor])
    shares = np.repeat([1 / len(effect), -1 / len(floor)], [len(effect), len(floor)])
    seen = abs(float(shares @ values)) - _ROUNDING
    hits = sum(abs(float(shares @ rng.permutation(values))) >= seen for _ in range(RESAMPLES))
    return (hits + 1) / (RESAMPLES + 1)
