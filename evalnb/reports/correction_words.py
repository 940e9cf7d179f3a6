"""Rates, means and their corrections in sentences: plain text, not escaped."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from evalnb.frames import to_records
from evalnb.reports.numbers import count, decimal, interval, pass_rate, rate, tokens
from evalnb.reports.text import cell_text, listing

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd

__all__ = [
    "audit_sentence",
    "corrected_mean_sentence",
    "corrected_rate_sentence",
    "correction_sentences",
    "failure_bound_sentence",
    "mean_sentence",
    "pass_rate_sentence",
    "rogan_gladen_sentence",
    "warning_sentences",
]

_REASONS = {"no_variance": "nothing varies", "too_few": "too few values"}
_WARNINGS = {
    "constant_rater": "The judge or the people gave the same score throughout, so that the judge "
    "adds nothing to the labels.",
    "few_clusters": "Below 10 clusters the interval is itself uncertain.",
    "few_labels": "Few labels: have at least 5 of each verdict, and 20 in all for a mean.",
    "few_labels_for_tuning": "Below 200 labels an interval of ppi++ is too short: take ppi.",
    "no_variance": "The judge differs from people by the same in all labels, so that the interval "
    "leaves out what rarer differences would do.",
    "outside_range": "The corrected figure was beyond its range and was cut: the labels do not fit "
    "these verdicts well.",
    "verdict_without_label": "A verdict has no label: label at least 5 of it.",
    "weak_correlation": "The judge follows people only weakly (correlation below 0.5).",
    "wider_than_labels": "The labels alone give a shorter interval: for the next ones, fix a lambda "
    "below 1 in advance.",
}


def pass_rate_sentence(rates: pd.DataFrame) -> str:
    """Say a pass rate, and what the cases without a verdict could make of it.

    Parameters
    ----------
    rates : as `evalnb.stats.rates.pass_rate` and `na_bounds` give it
    """
    row = _records(rates)["pass_rate"]
    return pass_rate(
        value=row.get("estimate"),
        ci_low=row.get("ci_low"),
        ci_high=row.get("ci_high"),
        n_scored=row["n"],
        n_planned=row["n"] + row["n_left_out"],
        bound_low=row.get("bound_low"),
        bound_high=row.get("bound_high"),
    )


def failure_bound_sentence(bounds: pd.DataFrame) -> str:
    """Say how rare failures are at most; no failure seen is not 0.

    Parameters
    ----------
    bounds : as `evalnb.stats.rates.zero_failures_bound` and `failure_bound` give it
    """
    row = _records(bounds)["failure_rate"]
    if "estimate" not in row:
        return "Nothing was tried: nothing is known of how often it fails."
    n, level = row["n"], row["method"].rpartition(" ")[2]
    failures = round(row["estimate"] * n)
    seen = f"{count(failures, 'failure')} in" if failures else "No failure in"
    if row["ci_high"] == 1:
        return f"{seen} {tokens(n)}: nothing bounds the rate of failures."
    how = f"one-sided, {100 * float(level):.6g}%"
    return f"{seen} {tokens(n)}: the rate of failures is below {_bound(row['ci_high'])} ({how})."


def mean_sentence(means: pd.DataFrame) -> str:
    """Say a mean, and what cases that share a cluster are worth.

    Parameters
    ----------
    means : as `evalnb.stats.means.mean_score` and `mean_over_repeats` give it
    """
    row = _records(means)["mean"]
    n_planned = row["n"] + row["n_left_out"]
    if "estimate" not in row:
        return f"No mean: none of the {count(n_planned, 'case')} has a score."
    text = f"Mean {_figure(row, decimal(row['estimate']))}, {count(row['n'], 'case')}"
    if row["n_left_out"]:
        text += f", {tokens(row['n_left_out'])} not scored"
    if "design_effect" in row:
        worth = max(row["n"] / row["design_effect"], 1)
        text += (
            f"; in {count(row['n_clusters'], 'cluster')} they tell as much as "
            f"{decimal(worth, digits=0)} on their own"
        )
    return f"{text}."


def corrected_rate_sentence(rates: pd.DataFrame) -> str:
    """Say a judge's pass rate and what labels make of it.

    Parameters
    ----------
    rates : as `evalnb.stats.correction.corrected_pass_rate` gives it
    """
    rows = _records(rates)
    raw, corrected = rows["raw"], rows["corrected"]
    if "estimate" not in raw:
        return "The judge gave no verdict: there is nothing to correct."
    judged = f"The judge passes {_percent(raw['estimate'])}"
    if not corrected["n_labels"]:
        return f"{judged} of {count(raw['n'], 'case')}; no label corrects it."
    by = count(corrected["n_labels"], "label")
    if "estimate" not in corrected:
        span = interval(corrected["ci_low"], corrected["ci_high"])
        return f"{judged}; {by} do not tell what it should be: it may be {span}."
    return f"{judged}; corrected by {by}: {_figure(corrected, rate(corrected['estimate']))}."


def corrected_mean_sentence(means: pd.DataFrame) -> str:
    """Say a judge's mean score and what labels make of it.

    Parameters
    ----------
    means : as `evalnb.stats.corrected_means.corrected_mean` gives it
    """
    rows = _records(means)
    raw, corrected = rows["raw"], rows["corrected"]
    if "estimate" not in raw:
        return "The judge gave no score: there is nothing to correct."
    judged = f"The judge's mean is {decimal(raw['estimate'])}"
    if "estimate" not in corrected:
        return f"{judged} over {count(raw['n'], 'case')}; too few labels correct it."
    by = count(corrected["n_labels"], "label")
    return f"{judged}; corrected by {by}: {_figure(corrected, decimal(corrected['estimate']))}."


def rogan_gladen_sentence(rates: pd.DataFrame) -> str:
    """Say a judge's pass rate and what its known errors make of it.

    Parameters
    ----------
    rates : as `evalnb.stats.rogan_gladen.rogan_gladen` gives it
    """
    rows = _records(rates)
    known = [rows[name] for name in ("judge_rate", "sensitivity", "specificity")]
    if any("estimate" not in row for row in known):
        return "Too few labels or verdicts to correct the judge by its errors."
    judged, sensitivity, specificity = (_percent(row["estimate"]) for row in known)
    text = (
        f"The judge passes {judged}; it passes {sensitivity} of the "
        f"{tokens(known[1]['n'])} that people pass and fails {specificity} of the "
        f"{tokens(known[2]['n'])} that they fail"
    )
    row = rows["corrected"]
    if "estimate" not in row:
        return f"{text}: not shown to be better than chance, so that nothing can be corrected."
    return f"{text}: corrected {_figure(row, rate(row['estimate']))}."


def correction_sentences(frame: pd.DataFrame) -> list[str]:
    """Say a corrected rate or mean, the labels alone, what it is of, and what to know of it.

    Parameters
    ----------
    frame : as `corrected_pass_rate` or `corrected_mean` gives it
    """
    rows = _records(frame)
    is_rate = "target" in frame.columns
    said = [corrected_rate_sentence(frame) if is_rate else corrected_mean_sentence(frame)]
    alone, corrected = rows["labels_only"], rows["corrected"]
    if "estimate" in alone:
        digits = rate if is_rate else decimal
        said.append(f"The labels alone say {_figure(alone, digits(alone['estimate']))}.")
    if corrected["n_cases"]:
        of = "these cases only" if corrected.get("target") == "cases" else "the system in general"
        labelled = f"{tokens(corrected['n_labels'])} of the {count(corrected['n_cases'], 'case')}"
        said.append(f"The corrected figure is of {of}; {labelled} with a verdict have a label.")
    if corrected["n_left_out"]:
        said.append(f"Left out for want of a verdict: {count(corrected['n_left_out'], 'case')}.")
    return said + warning_sentences(frame)


def warning_sentences(frame: pd.DataFrame) -> list[str]:
    """Say what the warnings of a metrics frame mean, each once.

    Parameters
    ----------
    frame : a metrics frame of rates, means or corrections
    """
    names = [name for row in to_records(frame) for name in row.get("warnings", ())]
    return [_WARNINGS.get(name, f"Warning: {name}.") for name in dict.fromkeys(names)]


def audit_sentence(audit: pd.DataFrame) -> str:
    """Say how many cases to label, and of which strata.

    Parameters
    ----------
    audit : as `evalnb.stats.audit.suggest_audit` gives it
    """
    if audit.empty:
        return "No case is left to label."
    sizes = audit["stratum"].value_counts(sort=False)
    parts = [f"{n:,} judged {cell_text(str(name), limit=60)}" for name, n in sizes.items()]
    return f"Label {count(len(audit), 'more case')}: {listing(parts, limit=12)}."


def _records(frame: pd.DataFrame) -> dict[str, dict[str, Any]]:
    return {row["metric"]: row for row in to_records(frame)}


def _figure(row: Mapping[str, Any], estimate: str) -> str:
    if "ci_low" not in row:
        return f"{estimate} (no interval: {_REASONS.get(row.get('reason', ''), 'not known')})"
    return f"{estimate} ({interval(row['ci_low'], row['ci_high'])})"


def _percent(value: float) -> str:
    """Return a percentage, with more digits where it would pass for 0 or 100 without being it."""
    texts = [f"{100 * value:.{digits}f}%" for digits in range(3)]
    ends = {f"{end:.{digits}f}%" for end in (0, 100) for digits in range(3)}
    return next((text for text in texts if value in (0, 1) or text not in ends), texts[-1])


def _bound(value: float) -> str:
    """Return an upper bound as a percentage of two significant digits, rounded up."""
    percent = 100 * value
    step = 10.0 ** (math.floor(math.log10(percent)) - 1)
    return f"{math.ceil(percent / step - 1e-9) * step:.6g}%"
