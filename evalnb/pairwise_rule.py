"""Gate rule 6: a run's answers pair by pair against the baseline's, for texts without a score."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evalnb.advice import FULL
from evalnb.baseline import read_baseline
from evalnb.certificates import pairs_standing
from evalnb.findings import SUITE, Row, finding
from evalnb.frames import Outcome, is_accident, to_records
from evalnb.judges import load_pairwise_judge
from evalnb.pairs import judge_pairs, pair_statistics, preference_test
from evalnb.stats.levels import PAIRWISE

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import date

    import pandas as pd

    from evalnb.advice import Tier
    from evalnb.cassettes import Cassettes
    from evalnb.certificates import Certificate
    from evalnb.golden import GateSettings, GoldenSet
    from evalnb.transport import Upstream

__all__ = ["PAIRWISE_RULE", "pairs_with_baseline", "pairwise_rows"]

PAIRWISE_RULE = "pairwise"

_HALF = 0.5


def pairs_with_baseline(
    golden: GoldenSet,
    outputs: pd.DataFrame,
    tier: Tier,
    cassettes: Cassettes,
    *,
    upstream: Upstream | None = None,
    concurrency: int = 8,
    max_minutes: float | None = None,
    budget_usd: float | None = None,
) -> pd.DataFrame | None:
    """Ask the suite's judge of pairs about a run's answers beside the baseline's.

    Parameters
    ----------
    golden : a suite, whose `[gate]` may name a judge of pairs
    outputs : an outputs frame of the run
    tier : judges are asked in `full` alone
    cassettes : where verdicts are taken from and stored
    upstream, concurrency, max_minutes, budget_usd : as for `evalnb.judge_pairs`

    Returns
    -------
    a pairs frame, the run as `a` and the baseline as `b`; None where nobody is to be asked, or
    there is no baseline

    Raises
    ------
    InputError
        If the judge cannot be used, or the same would befall every call.
    """
    name = golden.settings.gate.pairwise
    baseline = read_baseline(golden)
    if name is None or tier != FULL or baseline is None:
        return None
    return judge_pairs(
        golden,
        outputs,
        baseline.outputs.assign(system="baseline"),
        load_pairwise_judge(golden, name),
        cassettes=cassettes,
        upstream=upstream,
        concurrency=concurrency,
        max_minutes=max_minutes,
        budget_usd=budget_usd,
    )


def pairwise_rows(
    gate: GateSettings,
    pairs: pd.DataFrame | None,
    certificates: Sequence[Certificate],
    as_of: date,
) -> Iterator[Row]:
    """Hold the win rate against the baseline's answers against one half.

    Parameters
    ----------
    gate : of the suite; without a judge of pairs there is no row
    pairs : as `pairs_with_baseline` gives it
    certificates : of the suite
    as_of : the day on which they must hold

    Returns
    -------
    one row of rule `pairwise`
        It fails where the win rate, ties as half a win, is below one half by the one-sided
        sign-flip test over cases at level 0.01, and so is the upper end of its 95% interval. Where
        verdicts are missing by accident and could change that, it is inconclusive. It is a note
        where nothing is shown, where the judge has no certificate that holds, and where nobody was
        asked. `estimate` is the win rate less one half.
    """
    if gate.pairwise is None:
        return
    if pairs is None:
        reason = "nobody was asked which answers are better: run with the tier `full`"
        yield finding(PAIRWISE_RULE, Outcome.NOTE, slice=SUITE, reason=reason)
        return
    standing = pairs_standing(pairs, certificates, as_of, gate)
    outcome = _outcome(pairs)
    advice = "" if standing.counts else f"advice alone, {standing.why}: "
    yield finding(
        PAIRWISE_RULE,
        outcome if standing.counts else Outcome.NOTE,
        reason=advice + _reason(pairs, outcome),
        slice=SUITE,
        baseline=_HALF,
        **_figures(pairs),
    )


def _outcome(pairs: pd.DataFrame) -> Outcome:
    lost = is_accident(pairs["na_reason"])
    ways = {_loses(pairs)}
    if lost.any():
        ways |= {_loses(pairs.assign(winner=pairs["winner"].mask(lost, side))) for side in "ab"}
    if len(ways) > 1:
        return Outcome.INCONCLUSIVE
    return Outcome.FAIL if ways.pop() else Outcome.NOTE


def _loses(pairs: pd.DataFrame) -> bool:
    if preference_test(pairs).p_less > PAIRWISE:
        return False
    high = _wins(pairs).get("ci_high")
    return high is None or high < _HALF


def _wins(pairs: pd.DataFrame) -> dict[str, Any]:
    return next(row for row in to_records(pair_statistics(pairs)) if row["metric"] == "win_rate_a")


def _figures(pairs: pd.DataFrame) -> Row:
    wins, test = _wins(pairs), preference_test(pairs)
    if "estimate" not in wins:
        return {"n": 0}
    ends: Row = {name: wins[name] - _HALF for name in ("ci_low", "ci_high") if name in wins}
    return {
        "candidate": wins["estimate"],
        "estimate": wins["estimate"] - _HALF,
        **ends,
        "p_value": test.p_less,
        "p_adjusted": test.p_less,
        "n": int(pairs.loc[pairs["winner"].notna(), "case_id"].nunique()),
        "method": f"{test.method}; {wins['method']}",
    }


def _reason(pairs: pd.DataFrame, outcome: Outcome) -> str:
    wins, p = _wins(pairs), preference_test(pairs).p_less
    missing = pairs["na_reason"].dropna()
    unknown = ", ".join(f"{n} {why}" for why, n in missing.value_counts().sort_index().items())
    without = f"; {len(missing)} without a verdict ({unknown})" if len(missing) else ""
    if "estimate" not in wins:
        return f"no pair has a verdict{without}"
    ties, conflicts = pairs["winner"].eq("tie").sum(), pairs["order_dependent"].eq(True).sum()
    within = f" ({wins['ci_low']:.2f} to {wins['ci_high']:.2f})" if "ci_low" in wins else ""
    said = {
        Outcome.FAIL: "the judge prefers the baseline's answers",
        Outcome.INCONCLUSIVE: "verdicts that are missing could change the decision",
    }.get(outcome, "no loss against the baseline's answers is shown")
    return (
        f"{said}: win rate {wins['estimate']:.2f}{within} over {wins['n']} pairs, {ties} of them "
        f"ties, {conflicts} since the verdict depends on the order; p = {p:.2g}, at most "
        f"{PAIRWISE:g} blocks{without}"
    )
