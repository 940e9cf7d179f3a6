"""What reports say of a run in sentences: plain text, not escaped."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd

from evalnb.frames import Outcome, to_records
from evalnb.reports.numbers import count, difference, interval, money, pass_rate, rate, tokens
from evalnb.reports.text import cell_text, listing
from evalnb.reports.views import words
from evalnb.rollout import OVERRIDE, SHADOW

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = [
    "baseline_sentence",
    "confirmation_sentences",
    "cost_sentences",
    "holdout_sentences",
    "outcome_words",
    "overall_sentence",
    "power_sentences",
    "state_sentences",
    "why",
    "wording_sentences",
]

_OUTCOMES = {
    Outcome.PASS: "passed",
    Outcome.FAIL: "blocked",
    Outcome.INCONCLUSIVE: "inconclusive",
}
_VERBS = (
    (Outcome.INCONCLUSIVE, "finding leaves it open", "findings leave it open"),
    (Outcome.FAIL, "finding blocks", "findings block"),
)


def outcome_words(outcome: str, exit_code: int) -> str:
    """Say how a run went in a word or two."""
    match exit_code:
        case 3:
            return "cassette miss"
        case 4:
            return "a fault of evalnb, no decision"
        case _:
            return _OUTCOMES.get(Outcome(outcome), outcome)


def why(outcome: str, exit_code: int, decision: pd.DataFrame, misses: pd.DataFrame) -> str:
    """Say what the decision rests on.

    Parameters
    ----------
    outcome, exit_code : of the run
    decision, misses : frames of the run

    Returns
    -------
    sentences, "" where there is nothing to say
    """
    parts = []
    if len(misses):
        parts.append(
            f"{count(misses['case_id'].nunique(), 'case')} asked for what no cassette holds."
        )
    for kind, one, many in _VERBS:
        rows = decision[decision["outcome"] == kind]
        if len(rows):
            parts.append(f"{count(len(rows), one, many)}: {_rules(rows)}.")
    if outcome != Outcome.PASS and exit_code == 0:
        opened = decision[decision["rule"].isin([OVERRIDE, SHADOW])]
        reasons = "; ".join(cell_text(reason, limit=600) for reason in opened["reason"])
        parts.append(f"The exit code is 0 all the same: {reasons}.")
    return " ".join(parts or ["Nothing blocks."] * (outcome == Outcome.PASS))


def overall_sentence(slices: pd.DataFrame) -> str:
    """Say the pass rate of all cases, what it leaves out, and the baseline's."""
    overall = slices[slices["slice"] == "all"]
    if overall.empty:
        return ""
    row = overall.iloc[0]
    text = pass_rate(
        value=row["pass_rate"],
        **{
            name: row[name]
            for name in ("ci_low", "ci_high", "n_scored", "n_planned", "bound_low", "bound_high")
        },
    )
    if pd.isna(row["baseline_pass_rate"]):
        return text
    before = rate(row["baseline_pass_rate"])
    return f"{text} The baseline has {before} over the {count(row['n_compared'], 'case')} of both."


def baseline_sentence(run: Mapping[str, Any]) -> str:
    """Say what a run is compared with.

    Parameters
    ----------
    run : a manifest
    """
    baseline = run["baseline"]
    if not baseline:
        return "No baseline: nothing to compare with."
    run_id, system = (cell_text(baseline[name], limit=100) for name in ("run_id", "system"))
    text = f"Baseline: run {run_id} of system {system}."
    if baseline["golden_version"] == run["golden_version"]:
        return text
    version = cell_text(baseline["golden_version"], limit=16)
    return f"{text} It is of another golden version, {version}: only the cases of both compare."


def confirmation_sentences(run: Mapping[str, Any]) -> list[str]:
    """Say what was asked again because it looked worse, or why it could not be.

    Parameters
    ----------
    run : a manifest
    """
    found = run.get("confirmation")
    if not found:
        why_not = run.get("no_confirmation")
        return [f"Not asked again before blocking: {why_not}."] if why_not else []
    cost = f" for {money(found['cost_usd'])}" if found.get("cost_usd") is not None else ""
    missing = f", {tokens(found['missing'])} of them missing" if found["missing"] else ""
    return [
        (
            f"Asked again on both sides: {count(found['cases'], 'case')}, "
            f"{count(found['repeats'], 'repeat')} a side, {count(found['answers'], 'answer')}"
            f"{cost}{missing}. These fresh repeats alone decide whether scores fell."
        )
    ]


def state_sentences(results: pd.DataFrame, decision: pd.DataFrame) -> list[str]:
    """Say how many cases pass, fail and are unstable over their repeats, and how many are flaky.

    Parameters
    ----------
    results, decision : frames of a run

    Returns
    -------
    none for a run of one repeat without flaky cases
    """
    n_flaky = int((decision["rule"] == "flaky").sum())
    flaky = f"; {count(n_flaky, 'case')} flaky over earlier runs" if n_flaky else ""
    repeats = int(results["n_repeats"].fillna(0).max()) if len(results) else 0
    if repeats < 2 and not flaky:
        return []
    counts = results["state"].value_counts()
    said = [f"{tokens(int(counts.get(name, 0)))} {name}" for name in ("pass", "fail", "unstable")]
    return [f"States over {count(repeats, 'repeat')}: {', '.join(said)}{flaky}."]


def power_sentences(run: Mapping[str, Any]) -> list[str]:
    """Say which drop a live run could have found.

    Parameters
    ----------
    run : a manifest
    """
    found = run.get("power")
    if not found:
        return []
    about = (
        f"{count(found['cases'], 'case')}, {count(found['repeats'], 'repeat')}, variance of repeats "
        f"{found['source']}"
    )
    if found["smallest_drop"] is None:
        return [f"So few answers can show no drop of the pass rate ({about})."]
    return [
        (
            f"This suite finds drops of the pass rate from {found['smallest_drop']:.2f} in 8 of 10 runs "
            f"({about})."
        )
    ]


def wording_sentences(run: Mapping[str, Any]) -> list[str]:
    """Say which change of wording a run could have shown.

    Parameters
    ----------
    run : a manifest
    """
    found = run.get("wording")
    if not found:
        return []
    about = (
        f"{count(found['cases'], 'case')}, {count(found['repeats'], 'repeat')}, "
        f"{count(found['tried'], 'phrase')} tried"
    )
    if found["smallest_rate"] is None:
        return [f"So few cases can show no change of wording ({about})."]
    return [
        (
            f"This suite finds a new wording from {found['smallest_rate']:.0%} of the answers on in 8 "
            f"of 10 runs ({about})."
        )
    ]


def cost_sentences(run: Mapping[str, Any], outputs: Iterable[Mapping[str, Any]]) -> list[str]:
    """Say what a run cost, and of how many answers the cost is known.

    Parameters
    ----------
    run : a manifest
    outputs : records of the run's outputs
    """
    answered = [row for row in outputs if "na_reason" not in row or "cost_usd" in row]
    known = [row["cost_usd"] for row in answered if "cost_usd" in row]
    lines = []
    if answered:
        total = money(sum(known)) if known else "not known"
        lines.append(
            f"Cost at list price: {total}, {tokens(len(known))} of "
            f"{count(len(answered), 'answer')} known."
        )
    if unknown := run.get("models_without_price"):
        names = listing([cell_text(name, limit=60) for name in unknown], limit=5)
        lines.append(f"Warning: no price is known for {names}; what it cost is not in the sum.")
    return lines


def holdout_sentences(
    rates: pd.DataFrame,
    looks: pd.DataFrame,
    golden_version: str,
    gap_change: Iterable[Mapping[str, Any]] = (),
) -> list[str]:
    """Say how holdout cases fare beside the others, and how often they were looked at.

    Parameters
    ----------
    rates : as `evalnb.holdout.split_rates` gives them
    looks : a looks frame
    golden_version : whose looks are counted
    gap_change : records as `evalnb.first_baseline.gap_since_first_baseline` gives them

    Returns
    -------
    sentences, none where there is no holdout case
    """
    rows = {row["metric"]: row for row in to_records(rates)}
    if not rows:
        return []
    said = [_split_sentence(name, rows[name]) for name in ("dev", "holdout")]
    gap = rows["gap"]
    if "estimate" in gap:
        apart = interval(gap["ci_low"], gap["ci_high"])
        said.append(f"Gap, dev minus holdout: {difference(gap['estimate'])} ({apart}).")
    said += [_change_sentence(row) for row in gap_change if "estimate" in row]
    of_version = looks[looks["golden_version"] == golden_version]
    n_opened = int((of_version["kind"] == "cases").sum())
    n_systems = of_version["system_fingerprint"].nunique()
    if len(of_version):
        said.append(
            f"Looks at this golden version's holdout: {tokens(len(of_version))} by "
            f"{count(n_systems, 'system')}, {tokens(n_opened)} of them at single cases."
        )
    return said


def _split_sentence(name: str, row: Mapping[str, Any]) -> str:
    n_planned = row["n"] + row["n_left_out"]
    scored = f"{tokens(row['n'])} of {count(n_planned, 'case')} scored"
    if "estimate" not in row:
        return f"{name.capitalize()}: {scored}."
    span = interval(row["ci_low"], row["ci_high"])
    return f"{name.capitalize()}: pass rate {rate(row['estimate'])} ({span}), {scored}."


def _change_sentence(row: Mapping[str, Any]) -> str:
    change = difference(row["estimate"])
    compared = f"{count(row['n'], 'case')} compared"
    if "ci_low" not in row:
        return f"Since the first baseline the gap has changed by {change}, {compared}."
    span = interval(row["ci_low"], row["ci_high"])
    grown = " It has grown: what was done helps dev more than holdout." if row["ci_low"] > 0 else ""
    return f"Since the first baseline the gap has changed by {change} ({span}), {compared}.{grown}"


def _rules(rows: pd.DataFrame) -> str:
    counts = rows["rule"].value_counts(sort=False)
    return listing([f"{cell_text(words(rule), limit=100)} {n:,}" for rule, n in counts.items()])
