"""Making certificates: a judge's agreement with people on the outputs of a run, axis by axis."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from evalnb.agreement import decisions
from evalnb.certificates import AxisEvidence, Certificate
from evalnb.errors import InputError
from evalnb.frames import to_records
from evalnb.joining import join_counts, join_ratings
from evalnb.judges import suite_judges
from evalnb.probes.limits import judge_evidence
from evalnb.ratings import HUMAN, JUDGE, AxisScale, raters

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import date

    import pandas as pd

    from evalnb.golden import GoldenSet
    from evalnb.judges import Judge
    from evalnb.runs import Run

__all__ = ["VALID_DAYS", "certify"]

VALID_DAYS = 35
"""How long a certificate holds: from one monthly review past the next."""


def certify(
    golden: GoldenSet,
    run: Run,
    labels: pd.DataFrame,
    *,
    issued: date,
    days: int = VALID_DAYS,
    effects: pd.DataFrame | None = None,
) -> list[Certificate]:
    """Write down how far the judges of a run agree with people, and what sways them.

    Parameters
    ----------
    golden : the suite, with its judges as they are now
    run : a run of the tier `full`, whose verdicts stand beside the labels
    labels : a labels frame; those of other outputs than the run's are left out
    issued : the day of the certificates
    days : how long they hold
    effects : a frame of probe effects; what is of a judge as it is now, or of a judge of pairs that
        asks the same model, goes into its certificate

    Returns
    -------
    a certificate for each judge with labelled verdicts, also for one that agrees too little: its
    axes then do not count, and the certificate says why

    Raises
    ------
    InputError
        If no label is of an output that a judge of the suite gave a verdict on.

    Notes
    -----
    The grade of an axis rests on the lower end of the 95% interval of quadratic kappa, unweighted
    on two levels: `strong` from 0.8, `usable` from 0.6. Each axis is decided by itself.
    """
    if days < 1:
        raise ValueError(f"`days` must be at least 1. Got {days}.")
    ratings = join_ratings(labels, run.scores, outputs=run.outputs)
    asked: Mapping[str, Mapping[str, Any]] = run.manifest.get("judges") or {}
    found = []
    for judge in suite_judges(golden):
        scales = {
            scorer: AxisScale(tuple(range(low, high + 1)))
            for scorer, (low, high) in judge.scales.items()
            if asked.get(scorer, {}).get("fingerprint") == judge.fingerprint
            and len(raters(ratings, JUDGE, scorer)) == 1
        }
        if scales:
            axes = {scorer: _evidence(ratings, scorer, scale) for scorer, scale in scales.items()}
            certificate = _certificate(golden, run, judge, ratings, axes, asked, issued, days)
            probes = [] if effects is None else judge_evidence(golden, judge, effects)
            found.append(certificate.model_copy(update={"probes": probes}))
    if not found:
        raise InputError(_why_none(labels, run))
    return found


def _certificate(
    golden: GoldenSet,
    run: Run,
    judge: Judge,
    ratings: pd.DataFrame,
    axes: Mapping[str, AxisEvidence],
    asked: Mapping[str, Mapping[str, Any]],
    issued: date,
    days: int,
) -> Certificate:
    people = [name for axis in axes for name in raters(ratings, HUMAN, axis)]
    answered = [name for axis in axes for name in asked[axis]["answered"]]
    return Certificate(
        judge=judge.name,
        fingerprint=judge.fingerprint,
        model=judge.model,
        answered=sorted(set(answered)),
        issued=issued,
        expires=issued + timedelta(days=days),
        golden_version=golden.version,
        run_id=run.manifest["run_id"],
        raters=sorted(set(people)),
        axes=dict(axes),
    )


def _evidence(ratings: pd.DataFrame, axis: str, scale: AxisScale) -> AxisEvidence:
    (judge,) = raters(ratings, JUDGE, axis)
    (row,) = to_records(decisions(ratings, judge, scales={axis: scale}))
    figures = ("metric", "estimate", "ci_low", "ci_high", "n", "n_left_out", "method", "reason")
    return AxisEvidence(
        grade=row["decision"], **{name: row[name] for name in figures if name in row}
    )


def _why_none(labels: pd.DataFrame, run: Run) -> str:
    name = run.manifest["run_id"]
    if labels.empty:
        return "there are no labels: rate outputs with the notebook label.ipynb first"
    if run.manifest.get("tier") != "full" or not run.manifest.get("judges"):
        return f"no judge was asked in run {name}: run the suite with --tier full"
    counts = join_counts(labels, run.scores)
    fates = ("joined", "skipped", "other_output", "not_judged", "pair")
    told = ", ".join(f"{counts[fate].sum()} {fate.replace('_', ' ')}" for fate in fates)
    return (
        f"no label stands beside a verdict that a judge of the suite gave in run {name} ({told}); "
        "a judge that changed since the run needs a new run"
    )
