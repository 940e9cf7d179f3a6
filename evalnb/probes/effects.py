"""The effects of probes: how large, larger than noise, and large enough to matter."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd

from evalnb.probes.decisions import LEVEL, MATTERS, decided_row
from evalnb.probes.frames import PROBE_EFFECTS
from evalnb.probes.loading import PROBES
from evalnb.stats.multiplicity import adjusted

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from evalnb.probes.base import Probe

__all__ = ["adjusted_rows", "probe_effects"]

_SHARED = ["judge", "judge_fingerprint", "scorer"]


def probe_effects(verdicts: pd.DataFrame, probes: Sequence[Probe] | None = None) -> pd.DataFrame:
    """Say how far each probe sways a judge.

    Parameters
    ----------
    verdicts : a frame of probe verdicts, of any number of judges
    probes : those that asked; by default those of the package

    Returns
    -------
    a frame of probe effects: the rows of each probe and scorer, the headline first
        Each scorer is decided by itself. Where a judge gives every answer the same level, all its
        rows are warned `one_category`: nothing sways it, and nothing it says means anything.

    Raises
    ------
    ValueError
        If verdicts are of a probe that is not given.
    """
    by_name = dict(PROBES) if probes is None else {probe.name: probe for probe in probes}
    unknown = sorted(set(verdicts["probe"].unique()) - by_name.keys())
    if unknown:
        raise ValueError(
            f"`probes` must have every probe that asked. Not there: {', '.join(unknown)}."
        )
    rows: list[dict[str, Any]] = []
    for key, of_scorer in verdicts.groupby(_SHARED, sort=False):
        found = list(_rows(dict(zip(_SHARED, key, strict=True)), of_scorer, by_name))
        rows += adjusted_rows(found)
    return PROBE_EFFECTS.build(rows)


def _rows(
    shared: Mapping[str, Any], verdicts: pd.DataFrame, probes: Mapping[str, Probe]
) -> Iterator[dict[str, Any]]:
    values = verdicts["value"].dropna()
    constant = len(values) > 0 and bool((values == values.iloc[0]).all())
    span = (verdicts["high"] - verdicts["low"]).max()
    for name, of_probe in verdicts.groupby("probe", sort=False):
        n_failed = int(of_probe["na_reason"].notna().sum())
        for measure in probes[str(name)].measures(of_probe.reset_index(drop=True)):
            row = decided_row(measure)
            if row["unit"] == "level":
                row["span"] = span
            if constant:
                row["warnings"] = ["one_category", *(row.get("warnings") or ())]
            yield {**shared, "probe": name, "n_failed": n_failed, **row}


def adjusted_rows(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Correct for the number of probes: headlines among each other, others within their probe.

    Parameters
    ----------
    rows : of one judge and scorer, as `decided_row` gives them, with the probe

    Returns
    -------
    the same rows with `p_holm`, `real` and `matters` where there is a p
    """
    groups: dict[Any, list[int]] = {}
    for number, row in enumerate(rows):
        group = None if row["headline"] else row["probe"]
        groups.setdefault(group, []).append(number)
    for numbers in groups.values():
        found = adjusted([rows[number].get("p") for number in numbers], level=LEVEL)
        for number, p in zip(numbers, found["p_adjusted"], strict=True):
            if p is not pd.NA:
                row = rows[number]
                real = p <= LEVEL
                large = abs(row["net"]) > MATTERS[row["unit"]]
                row |= {"p_holm": p, "real": real, "matters": real and large}
    return rows
