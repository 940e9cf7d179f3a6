"""What a suite allows probes to find, held against what they found."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalnb.judges import PairwiseJudge, load_pairwise_judge
from evalnb.probe_evidence import LimitState, limit_states, probe_evidence
from evalnb.probes.loading import probed_judges

if TYPE_CHECKING:
    import pandas as pd

    from evalnb.golden import GoldenSet
    from evalnb.judges import Judge
    from evalnb.probe_evidence import ProbeEvidence

__all__ = ["judge_evidence", "suite_limits"]


def judge_evidence(golden: GoldenSet, judge: Judge, effects: pd.DataFrame) -> list[ProbeEvidence]:
    """Return what probes found of a judge, and of the judge of pairs that asks the same model.

    Parameters
    ----------
    golden : the suite
    judge : of single answers, as it is now
    effects : a frame of probe effects
    """
    pairs = load_pairwise_judge(golden, golden.settings.probes.pairwise)
    own = [judge.fingerprint]
    return probe_evidence(effects, [*own, pairs.fingerprint] if pairs.model == judge.model else own)


def suite_limits(golden: GoldenSet, effects: pd.DataFrame) -> list[LimitState]:
    """Hold the axes that were probed against the limits of the suite.

    Parameters
    ----------
    golden : the suite
    effects : a frame of probe effects, of its own judges

    Returns
    -------
    a state for each axis and limit; none where the suite sets no limit
    """
    judges = probed_judges(golden, list(effects["judge"].unique()))
    return [
        state
        for judge in judges
        if not isinstance(judge, PairwiseJudge)
        for scorer in effects.loc[effects["judge"] == judge.name, "scorer"].unique()
        for state in limit_states(
            golden.settings.gate, judge_evidence(golden, judge, effects), str(scorer)
        )
    ]
