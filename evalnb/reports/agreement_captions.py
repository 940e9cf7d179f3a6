"""What a figure or table of agreement shows, and what to do: two sentences, made from its data.

They are for readers who have never heard of kappa. Names in them may be anybody's: they are put on
one line, and where the sentences go to HTML they must be escaped there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd

from evalnb.agreement import USABLE
from evalnb.reports.numbers import count, decimal, difference, milliseconds, money
from evalnb.reports.numbers import tokens as number
from evalnb.reports.text import listing, one_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = [
    "bias_caption",
    "comparison_caption",
    "confusion_caption",
    "counting_caption",
    "disagreement_caption",
    "join_caption",
    "kappa_caption",
    "labels_caption",
    "slice_caption",
]

_FEW = 50
_CLEAR = 0.25
_UNEVEN = 0.4


def kappa_caption(decided: pd.DataFrame) -> str:
    """Say what `kappa_intervals` shows.

    Parameters
    ----------
    decided : as `evalnb.agreement.decisions` gives it
    """
    by_grade = {grade: _names(decided, grade) for grade in ("strong", "usable", "revise")}
    parts = [f"{grade} on {listing(names)}" for grade, names in by_grade.items() if names]
    shows = (
        "Kappa is the share of the possible agreement beyond chance: 0 is what guessing gives, 1 is "
        f"full agreement. By the lower end of its interval the judge is {'; '.join(parts)}."
        if parts
        else "No axis could be compared."
    )
    return _two(shows, _kappa_advice(decided, by_grade))


def labels_caption(decided: pd.DataFrame) -> str:
    """Say what `labels_curve` shows; see `kappa_caption`."""
    shows = (
        "Each line is where the lower end of the interval would be with so many labels, if kappa "
        "itself stayed as it is; the dots are today."
    )
    waiting = [row for row in _rows(decided) if not pd.isna(row["more_labels"])]
    if waiting:
        parts = [
            f"about {number(row['more_labels'])} more on {_name(row['axis'])} for {row['next_grade']}"
            for row in waiting
        ]
        return _two(shows, f"Label {listing(parts)}.")
    if (decided["decision"] == "strong").all():
        return _two(shows, "No more labels are needed; label anew when the judge changes.")
    stuck = [row for row in _rows(decided) if row["decision"] != "strong"]
    names = listing([_name(row["axis"]) for row in stuck])
    return _two(
        shows, f"More labels would not lift {names}: sharpen the rubric or change the judge."
    )


def confusion_caption(counts: pd.DataFrame, *, ordered: bool) -> str:
    """Say what `confusion_matrix` shows.

    Parameters
    ----------
    counts : as `evalnb.agreement.confusion_table` gives it
    ordered : whether the levels have an order
    """
    total = int(counts.to_numpy().sum())
    if not total:
        return _two("Nobody rated an item that the judge rated, too.", "Label what it judged.")
    same = sum(int(counts.iloc[place, place]) for place in range(len(counts)))
    shows = (
        f"Rows are what people said, columns what the judge said, and framed is where both say the "
        f"same: {number(same)} of {count(total, 'item')} ({_percent(same, total)})."
    )
    cells = [
        (int(counts.iloc[row, column]), row, column)
        for row in range(len(counts))
        for column in range(len(counts))
        if row != column
    ]
    most, row, column = max(cells, key=lambda cell: (cell[0], -cell[1], -cell[2]))
    if not most:
        return _two(shows, "Nothing here to mend.")
    said = (_name(counts.index[row]), _name(counts.columns[column]))
    where = f"{count(most, 'time')} people say {said[0]} and the judge {said[1]}"
    share = most / (total - same)
    if share < _UNEVEN and ordered:
        return _two(shows, f"Read some of the largest group first: {where}.")
    return _two(
        shows,
        f"The largest group is {_percent(most, total - same)} of all disagreement: {where}. "
        "Say in the rubric, with an example each, how these two levels differ.",
    )


def bias_caption(biases: pd.DataFrame) -> str:
    """Say what `bias_levels` shows.

    Parameters
    ----------
    biases : as `evalnb.agreement.bias_table` gives it
    """
    known = biases.dropna(subset=["bias"])
    if known.empty:
        return _two("No level was given by people and judged.", "Label what the judge judged.")
    weights = known["n"].astype("float64")
    overall = float((known["bias"].astype("float64") * weights).sum() / weights.sum())
    strict = "stricter" if overall < 0 else "kinder"
    shows = f"On average the judge is {decimal(abs(overall))} {strict} than people"
    if abs(overall) < _CLEAR:
        shows = f"On average the judge is about as strict as people ({difference(overall)})"
    first, last = known.iloc[0]["bias"], known.iloc[-1]["bias"]
    if first > _CLEAR and last < -_CLEAR:
        return _two(
            f"{shows}; it keeps to the middle: too kind where people are strict, and too strict "
            "where they are kind.",
            "Describe the ends of the scale by examples. Some of this is there by chance, wherever "
            "people's own ratings scatter.",
        )
    if abs(overall) < _CLEAR:
        return _two(f"{shows}.", "The scale is not shifted: nothing to do here.")
    return _two(
        f"{shows}.",
        "Where the order of the items is right, the scale is only shifted: say in the rubric what "
        f"earns {'the higher' if overall < 0 else 'only the lower'} levels, or correct for it.",
    )


def slice_caption(slices: pd.DataFrame) -> str:
    """Say what a table of slices shows.

    Parameters
    ----------
    slices : as `evalnb.agreement.agreement_by_slice` gives it
    """
    known = slices.dropna(subset=["kappa", "ci_low", "ci_high"])
    if known.empty:
        return _two("There are no slices with enough labels.", "Label more, slice by slice.")
    low = known.loc[known["kappa"].astype("float64").idxmin()]
    high = known.loc[known["kappa"].astype("float64").idxmax()]
    shows = (
        f"Agreement differs by slice: from {decimal(low['kappa'])} ({_where(low)}) to "
        f"{decimal(high['kappa'])} ({_where(high)})."
    )
    if low["ci_high"] < high["ci_low"]:
        return _two(shows, f"Read disagreements of {_where(low)}: the judge is weaker there.")
    few = low["n"] < _FEW
    labels = f" It has only {count(low['n'], 'label')}." if few else ""
    return _two(shows, f"The intervals overlap: no slice is shown to be worse.{labels}")


def disagreement_caption(disagreements: pd.DataFrame) -> str:
    """Say what the table of the largest disagreements is for; see `agreement`."""
    if disagreements.empty:
        return _two("People and the judge agree on every item.", "Nothing here to read.")
    reasons = disagreements["judge_reason"].notna().any()
    shows = (
        f"The {count(len(disagreements), 'item')} on which the judge and people lie furthest apart, "
        + ("with both their reasons." if reasons else "though this data holds no reasons.")
    )
    return _two(
        shows,
        "Read each and decide who is right: where people are, give the judge that example; where the "
        "judge is, mend the label.",
    )


def counting_caption(counted: pd.DataFrame) -> str:
    """Say what counting unread verdicts as a level does.

    Parameters
    ----------
    counted : as `evalnb.agreement.countings` gives it
    """
    left_out = int(counted["n_left_out"].sum())
    if not left_out:
        return _two("Every verdict could be read.", "Nothing to do.")
    pairs = counted.groupby("axis", sort=False)["kappa"]
    moved = (pairs.last() - pairs.first()).abs().max()
    by = (
        "not at all" if pd.isna(moved) or moved < 0.0005 else f"by up to {decimal(moved, digits=3)}"
    )
    return _two(
        f"{count(left_out, 'verdict')} could not be read; counting them as if they had been given "
        f"moves kappa {by}.",
        "Trust the figures that leave them out, and say how many were left out: a verdict that "
        "nobody read is no verdict.",
    )


def comparison_caption(compared: pd.DataFrame, margin: float) -> str:
    """Say which judge to take.

    Parameters
    ----------
    compared : as `evalnb.judge_comparison.compare_judges` gives it
    margin : what kappa may be below the best
    """
    shows, advice = [], []
    for axis, rows in compared.groupby("axis", sort=False):
        best = rows.iloc[0]
        if len(rows) < 2 or pd.isna(best["kappa"]):
            continue
        able = int(rows["not_worse"].fillna(value=False).sum()) - 1
        shows.append(
            f"{_name(axis)}: {_name(best['judge'])} agrees best ({decimal(best['kappa'])}), "
            f"{number(able)} of the other {number(len(rows) - 1)} shown to be within {margin:g} of it"
        )
        advice += _choice(axis, rows, best)
    if not shows:
        return _two("There is one judge only.", "Let a cheaper one judge the same outputs.")
    return _two("; ".join(shows) + ".", " ".join(advice))


def join_caption(counts: pd.DataFrame) -> str:
    """Say how many labels met a score.

    Parameters
    ----------
    counts : as `evalnb.joining.join_counts` gives it
    """
    sums = {name: int(counts[name].sum()) for name in counts.columns if name not in _KEYS}
    whole = sum(sums.values())
    lost = {_LOST[name]: n for name, n in sums.items() if name in _LOST and n}
    shows = f"{number(sums.get('joined', 0))} of {count(whole, 'label')} met a judge's score"
    if not lost:
        return _two(f"{shows}.", "Nothing to do.")
    why = listing([f"{number(n)} {text}" for text, n in lost.items()])
    return _two(
        f"{shows}; left out are {why}.",
        "Labels of another output wait for a run that gives it again; label the latest run for more.",
    )


_KEYS = ("axis", "rater")
_LOST = {
    "skipped": "skipped by the rater",
    "other_output": "of another output",
    "not_judged": "that no judge was asked about",
    "pair": "of pairs",
}


def _kappa_advice(decided: pd.DataFrame, by_grade: Mapping[str, list[str]]) -> str:
    said = []
    if by_grade["strong"] or by_grade["usable"]:
        said.append(f"Use its verdicts on {listing([*by_grade['strong'], *by_grade['usable']])}.")
    weak = [row for row in _rows(decided) if row["decision"] == "revise"]
    near = [row for row in weak if not pd.isna(row["more_labels"])]
    far = [row for row in weak if pd.isna(row["more_labels"])]
    if near:
        parts = [f"about {number(row['more_labels'])} on {_name(row['axis'])}" for row in near]
        said.append(f"Label more before anything else: {listing(parts)}.")
    if far:
        names = listing([_name(row["axis"]) for row in far])
        said.append(
            f"Take its verdicts on {names} as advice only, and sharpen the rubric: the lower end is "
            f"under {USABLE:g}."
        )
    return " ".join(said)


def _choice(axis: Any, rows: pd.DataFrame, best: pd.Series) -> Iterable[str]:
    chosen = rows[rows["cheapest_not_worse"].fillna(value=False)]
    if chosen.empty:
        yield (
            f"On {_name(axis)} take {_name(best['judge'])}; what the judges cost is not known here."
        )
        return
    one = chosen.iloc[0]
    price = f"{money(one['usd_per_1000'])} a thousand"
    took = "" if pd.isna(one["latency_ms"]) else f", {milliseconds(one['latency_ms'])} each"
    if one["judge"] == best["judge"]:
        yield f"On {_name(axis)} take {_name(one['judge'])} ({price}{took}): no cheaper one will do."
        return
    saving = best["usd_per_1000"] / one["usd_per_1000"] if one["usd_per_1000"] else pd.NA
    times = "" if pd.isna(saving) else f", {decimal(saving, digits=1)} times cheaper than the best"
    yield (
        f"On {_name(axis)} take {_name(one['judge'])} ({price}{took}{times}): it is not worse by "
        "more than the margin."
    )


def _two(shows: str, do: str) -> str:
    return f"What it shows. {shows}\nWhat to do. {do}"


def _rows(frame: pd.DataFrame) -> list[dict[str, Any]]:
    return frame.to_dict("records")  # type: ignore[return-value]


def _names(decided: pd.DataFrame, grade: str) -> list[str]:
    return [_name(axis) for axis in decided.loc[decided["decision"] == grade, "axis"]]


def _name(value: Any) -> str:
    return one_line(str(value), limit=60)


def _where(row: pd.Series) -> str:
    return f"{_name(row['axis'])}, {_name(row['slice'])} {_name(row['value'])}"


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.0f}%" if whole else "none"
