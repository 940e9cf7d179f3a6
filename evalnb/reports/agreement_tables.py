"""The tables of agreement that a notebook shows, in words; all text in them is escaped."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd

from evalnb.reports.numbers import (
    MISSING,
    count,
    difference,
    interval,
    milliseconds,
    money,
    p_value,
    rate,
)
from evalnb.reports.numbers import tokens as number
from evalnb.reports.tables import styled
from evalnb.reports.views import records, words

if TYPE_CHECKING:
    from pandas.io.formats.style import Styler

    from evalnb.study import Study

__all__ = [
    "ceiling_table",
    "comparison_table",
    "counting_table",
    "decision_table",
    "disagreement_table",
    "join_table",
    "slice_table",
    "statistics_table",
    "study_table",
]

_MEANINGS = {
    "kappa_quadratic": "agreement beyond chance; being two levels off counts four times one",
    "kappa_linear": "agreement beyond chance; being two levels off counts twice one",
    "kappa": "agreement beyond chance; every difference counts alike",
    "kappa_max": "the largest kappa, with quadratic weights, for levels used as often as these",
    "exact_agreement": "share of items on which both say the same",
    "expected_agreement": "the share that chance alone would give",
    "within_one": "share of items on which they are one level apart at most",
    "mean_absolute_difference": "how far apart they are on average, in levels",
    "bias": "judge less people, in levels: below 0 the judge is stricter",
    "spearman": "do they put the items in the same order? 1 is the same, 0 unrelated",
    "kendall_tau_b": "the same, counted by pairs of items",
    "pearson": "do they lie on a line? 1 is on one, 0 unrelated",
    "concordance": "do they lie on the line of equal values? Lin's coefficient",
    "gwet_ac1": "agreement beyond chance that stays high where one level dominates",
    "gwet_ac2": "agreement beyond chance that stays high so, near misses counting less",
    "krippendorff_alpha_nominal": "agreement beyond chance; every difference counts alike",
    "krippendorff_alpha_ordinal": "agreement beyond chance, by the order of the levels",
    "krippendorff_alpha_interval": "agreement beyond chance, by the distance of the levels",
    "pabak": "agreement beyond what levels chosen by lot would give",
    "stuart_maxwell": "does the judge use each level as often as people? a small p: it does not",
    "bowker": "are levels taken for each other both ways alike? a small p: they are not",
    "prevalence_index": "how much one of the two levels dominates, from −1 to 1",
    "bias_index": "how much more often one side gives the first level",
    "positive_agreement": "agreement on the first level",
    "negative_agreement": "agreement on the second level",
}
_SIGNED = {"bias"}
_TESTS = {"stuart_maxwell", "bowker"}
"""Of these the p-value is shown: their size alone says little."""
_REASONS = {
    "no_overlap": "nothing in common",
    "too_few": "too few items",
    "one_category": "one level only",
    "constant_rater": "one side says one level only",
    "no_variance": "nothing varies",
}


def study_table(study: Study) -> Styler:
    """Show what is compared: items, people, judges and missing values by axis."""
    rows = []
    for axis in study.scales:
        on_axis = study.ratings[study.ratings["axis"] == axis]
        by_kind = on_axis.groupby("kind", sort=False)["rater"].nunique()
        own = on_axis[on_axis["rater"] == study.judge]
        missing = own["na_reason"].dropna().value_counts()
        rows.append(
            {
                "axis": axis,
                "levels": ", ".join(
                    study.scales[axis].name(level) for level in study.scales[axis].levels
                ),
                "items": on_axis["item"].nunique(),
                "people": int(by_kind.get("human", 0)),
                "judges": int(by_kind.get("judge", 0)),
                "verdicts of the judge": int(own["value"].notna().sum()),
                "missing": "; ".join(f"{n:,} {words(reason)}" for reason, n in missing.items())
                or "none",
            }
        )
    columns = ["axis", "levels", "items", "people", "judges", "verdicts of the judge", "missing"]
    return styled(pd.DataFrame(rows, columns=columns), caption=f"{study.judge} and people")


def join_table(counts: pd.DataFrame) -> Styler:
    """Show what became of the labels.

    Parameters
    ----------
    counts : as `evalnb.joining.join_counts` gives it
    """
    return styled(counts.rename(columns=words), caption="What became of the labels")


def decision_table(decided: pd.DataFrame) -> Styler:
    """Show the decision on each axis.

    Parameters
    ----------
    decided : as `evalnb.agreement.decisions` gives it
    """
    rows = [
        {
            "axis": row["axis"],
            "kappa": rate(row["estimate"]),
            "95% interval": interval(row["ci_low"], row["ci_high"]),
            "labels": row["n"],
            "left out": row["n_left_out"],
            "decision": row["decision"],
            "labels still needed": _still_needed(row),
            "note": _note(row),
        }
        for row in records(decided)
    ]
    columns = [
        "axis",
        "kappa",
        "95% interval",
        "labels",
        "left out",
        "decision",
        "labels still needed",
        "note",
    ]
    return styled(pd.DataFrame(rows, columns=columns), caption="May its verdicts be used?")


def statistics_table(statistics: pd.DataFrame) -> Styler:
    """Show every statistic, a column an axis, with what it means.

    Parameters
    ----------
    statistics : as `evalnb.agreement.agreement` gives it
    """
    axes = list(statistics["axis"].unique())
    texts = {(row["metric"], row["axis"]): _estimate_text(row) for row in records(statistics)}
    rows = [
        {
            "statistic": words(metric),
            **{axis: texts.get((metric, axis), MISSING) for axis in axes},
            "what it says": _MEANINGS.get(metric, ""),
        }
        for metric in sorted(statistics["metric"].unique(), key=_place)
    ]
    frame = pd.DataFrame(rows, columns=["statistic", *axes, "what it says"])
    return styled(frame, caption="Agreement, with 95% intervals")


def ceiling_table(ceiling: pd.DataFrame) -> Styler:
    """Show what people reach among themselves beside what the judge reaches with one of them.

    Parameters
    ----------
    ceiling : as `evalnb.agreement.human_ceilings` gives it
    """
    texts = {(row["axis"], row["metric"]): _estimate_text(row) for row in records(ceiling)}
    rows = [
        {
            "axis": axis,
            "two people": texts.get((axis, "human_human"), MISSING),
            "judge and a person": texts.get((axis, "judge_human"), MISSING),
            "judge less people": texts.get((axis, "difference"), MISSING),
            "people's alpha": texts.get((axis, "krippendorff_alpha"), MISSING),
        }
        for axis in ceiling["axis"].unique()
    ]
    frame = pd.DataFrame(
        rows,
        columns=["axis", "two people", "judge and a person", "judge less people", "people's alpha"],
    )
    return styled(frame, caption="Kappa of two people, and of the judge with one")


def slice_table(slices: pd.DataFrame) -> Styler:
    """Show agreement by slice.

    Parameters
    ----------
    slices : as `evalnb.agreement.agreement_by_slice` gives it

    Returns
    -------
    a table for a notebook
        Of a slice with many values, the 20 with the most labels; the caption counts the others.
    """
    most = slices.groupby(["axis", "slice"], sort=False)["n"].rank("first", ascending=False)
    shown = slices[most <= _MAX_VALUES]
    rows = [
        {
            "slice": row["slice"],
            "value": row["value"],
            "kappa": rate(row["kappa"]),
            "95% interval": interval(row["ci_low"], row["ci_high"]),
            "labels": row["n"],
            "left out": row["n_left_out"],
            "both the same": rate(row["exact_agreement"]),
            "bias": difference(row["bias"]),
            "note": _why(row["reason"]),
        }
        for row in records(shown)
    ]
    columns = [
        "slice",
        "value",
        "kappa",
        "95% interval",
        "labels",
        "left out",
        "both the same",
        "bias",
        "note",
    ]
    axis = ", ".join(slices["axis"].unique())
    left_out = len(slices) - len(shown)
    more = f"; {count(left_out, 'value')} with fewer labels not shown" if left_out else ""
    return styled(pd.DataFrame(rows, columns=columns), caption=f"Agreement by slice: {axis}{more}")


def disagreement_table(disagreements: pd.DataFrame) -> Styler:
    """Show the items of largest disagreement, both reasons side by side.

    Parameters
    ----------
    disagreements : as `evalnb.disagreements.largest_disagreements` gives it
    """
    shown = pd.DataFrame(
        {
            "item": disagreements["item"],
            "what was rated": disagreements["text"],
            "people": disagreements["each_person"],
            "judge": disagreements["judge_says"],
            "people's reasons": disagreements["people_reasons"],
            "judge's reason": disagreements["judge_reason"],
        }
    )
    known = [name for name in shown.columns if name in _ALWAYS or shown[name].notna().any()]
    caption = f"{count(len(shown), 'item')} of largest disagreement"
    return styled(shown[known], caption=caption, limit=700)


def counting_table(counted: pd.DataFrame) -> Styler:
    """Show the figures with unread verdicts left out and counted as a level.

    Parameters
    ----------
    counted : as `evalnb.agreement.countings` gives it
    """
    rows = [
        {
            "axis": row["axis"],
            "judge": row["judge"],
            "counting": row["counting"],
            "verdicts": row["n"],
            "left out": row["n_left_out"],
            "both the same": _percent(row["exact_agreement"]),
            "kappa": MISSING if pd.isna(row["kappa"]) else f"{row['kappa']:.4f}",
            "95% interval": interval(row["ci_low"], row["ci_high"]),
        }
        for row in records(counted)
    ]
    columns = [
        "axis",
        "judge",
        "counting",
        "verdicts",
        "left out",
        "both the same",
        "kappa",
        "95% interval",
    ]
    return styled(pd.DataFrame(rows, columns=columns), caption="Unread verdicts, counted both ways")


def comparison_table(compared: pd.DataFrame) -> Styler:
    """Show judges side by side.

    Parameters
    ----------
    compared : as `evalnb.judge_comparison.compare_judges` gives it
    """
    rows = [
        {
            "axis": row["axis"],
            "judge": row["judge"],
            "kappa": rate(row["kappa"]),
            "95% interval": interval(row["ci_low"], row["ci_high"]),
            "labels": row["n"],
            "less the best": "the best" if _is(row["best"]) else difference(row["difference"]),
            "its interval": interval(row["difference_low"], row["difference_high"]),
            "not worse": _yes_or_no(row["not_worse"]),
            "a thousand verdicts": money(row["usd_per_1000"]),
            "a verdict takes": milliseconds(row["latency_ms"]),
            "take": "this one" if _is(row["cheapest_not_worse"]) else "",
        }
        for row in records(compared)
    ]
    columns = [
        "axis",
        "judge",
        "kappa",
        "95% interval",
        "labels",
        "less the best",
        "its interval",
        "not worse",
        "a thousand verdicts",
        "a verdict takes",
        "take",
    ]
    frame = pd.DataFrame(rows, columns=columns)
    unknown = [name for name in _PRICES if frame[name].isin([MISSING, ""]).all()]
    return styled(frame.drop(columns=unknown), caption="Judges on the same labels")


_ALWAYS = ("item", "people", "judge")
_PRICES = ("a thousand verdicts", "a verdict takes", "take")
_MAX_VALUES = 20


def _place(metric: str) -> int:
    known = list(_MEANINGS)
    return known.index(metric) if metric in known else len(known)


def _estimate_text(row: dict[str, Any]) -> str:
    if pd.isna(row["estimate"]):
        return _why(row["reason"]) or MISSING
    if row["metric"] in _TESTS:
        return p_value(row["p_value"])
    own = difference if row["metric"] in {*_SIGNED, "difference"} else rate
    text = own(row["estimate"])
    return text if pd.isna(row["ci_low"]) else f"{text} ({interval(row['ci_low'], row['ci_high'])})"


def _still_needed(row: dict[str, Any]) -> str:
    if pd.isna(row["next_grade"]):
        return MISSING
    if pd.isna(row["more_labels"]):
        return f"no number is enough for {row['next_grade']}"
    return f"about {number(row['more_labels'])} for {row['next_grade']}"


def _note(row: dict[str, Any]) -> str:
    warnings = row["warnings"] if isinstance(row["warnings"], list) else []
    notes = [_why(row["reason"]), *(_REASONS.get(name, words(name)) for name in warnings)]
    return "; ".join(dict.fromkeys(filter(None, notes)))


def _why(reason: Any) -> str:
    return "" if pd.isna(reason) else _REASONS.get(reason, words(reason))


def _percent(share: Any) -> str:
    return MISSING if pd.isna(share) else f"{100 * share:.2f}%"


def _is(value: Any) -> bool:
    return not pd.isna(value) and bool(value)


def _yes_or_no(value: Any) -> str:
    return MISSING if pd.isna(value) else "yes" if value else "not shown"
