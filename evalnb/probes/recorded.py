"""What probes of a suite's judges came to, as far as it is recorded."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalnb.baseline import read_baseline
from evalnb.frames import NaReason
from evalnb.probes.asking import NothingToProbeError, probe_judges
from evalnb.probes.effects import probe_effects
from evalnb.probes.frames import PROBE_EFFECTS
from evalnb.probes.loading import load_probes, probed_judges, probed_outputs

if TYPE_CHECKING:
    import pandas as pd

    from evalnb.golden import GoldenSet

__all__ = ["recorded_effects"]


def recorded_effects(golden: GoldenSet) -> pd.DataFrame:
    """Replay the probes of a suite's judges.

    Parameters
    ----------
    golden : a suite's golden set

    Returns
    -------
    a frame of probe effects
        Empty without a baseline. A judge's probe with a verdict that is not recorded is left out:
        `evalnb probe SUITE --mode record` asks for it.
    """
    baseline = read_baseline(golden)
    if baseline is None:
        return PROBE_EFFECTS.empty()
    probes = load_probes(golden)
    outputs = probed_outputs(golden, baseline.outputs)
    try:
        verdicts = probe_judges(golden, outputs, probed_judges(golden), probes)
    except NothingToProbeError:
        return PROBE_EFFECTS.empty()
    by_probe = verdicts.groupby(["judge", "probe"])["na_reason"]
    missed = by_probe.transform(lambda reasons: bool(reasons.eq(NaReason.MISS).any()))
    whole = verdicts[~missed.astype(bool)].reset_index(drop=True)
    return probe_effects(whole, probes)
