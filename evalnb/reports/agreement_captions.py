"""What a figure or table of agreement shows, and what to do: two sentences, made from its data.

They are for readers who have never heard of kappa. Names in them may be anybody's: they are put on
one line, and where the sentences go to HTML they must be escaped there.
"""

from __future__ import annotations

from textwrap import fill
from typing import TYPE_CHECKING, Any

import pandas as pd

from evalnb.agreement import USABLE
from evalnb.certificates import WORKING_MINIMUM
from evalnb.reports.agreement_words import agreement_advice, kappa_sentence
from evalnb.reports.numbers import count, decimal, difference, milliseconds, money
from evalnb.reports.numbers import tokens as number
from evalnb.reports.text import listing, one_line, visible
from evalnb.reports.views import records

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from evalnb.study import Study

__all__ = [
    "bias_caption",
    "ceiling_caption",
    "comparison_caption",
    "confusion_caption",
    "counting_caption",
    "disagreement_caption",
    "join_caption",
    "kappa_caption",
    "labels_caption",
    "slice_caption",
    "statistics_caption",
    "study_notes",
]

_NO_PATTERN = "No known pattern stands out: read where they lie furthest apart."
_GRADES = {"strong": "strong", "usable": "usable", "revise": "not usable yet"}
_WIDTH = 100
_MANY_SLICES = 5
_CLEAR = 0.25
_UNEVEN = 0.4


def kappa_caption(decided: pd.DataFrame) -> str:
    """Say what `kappa_intervals` shows.

    Parameters
    ----------
    decided : as `evalnb.agreement.decisions` gives it
    """
    if decided.empty:
        return _two("There is nothing to compare yet.", "Label answers that the judge judged.")
    by_grade = {grade: _names(decided, grade) for grade in _GRADES}
    parts = [f"{_GRADES[grade]} on {listing(names)}" for grade, names in by_grade.items() if names]
    shows = (
        "Kappa is how much of the agreement that chance leaves room for was reached. By the lower "
        f"end of its interval the judge is {'; '.join(parts)}."
    )
    return _two(shows, _kappa_advice(decided, by_grade))


def statistics_caption(decided: pd.DataFrame, statistics: pd.DataFrame) -> str:
    """Say what the table of statistics shows, axis by axis.

    Parameters
    ----------
    decided : as `evalnb.agreement.decisions` gives it
    statistics : as `evalnb.agreement.agreement` gives it
    """
    if decided.empty:
        return _two("There are no statistics yet.", "Label answers that the judge judged.")
    shows = [f"{_name(row['axis'])}: {kappa_sentence(row)}" for row in records(decided)]
    found = {
        _name(axis): agreement_advice(rows) for axis, rows in statistics.groupby("axis", sort=False)
    }
    advice = [f"{axis}: {' '.join(lines)}" for axis, lines in found.items() if lines]
    return _two("\n".join(shows), "\n".join(advice) or _NO_PATTERN)


def labels_caption(decided: pd.DataFrame) -> str:
    """Say what `labels_curve` shows; see `kappa_caption`."""
    shows = (
        "Each line is where the lower end of the interval would be with so many labels, if kappa "
        "itself stayed as it is; the dots are today."
    )
    if decided.empty:
        return _two("There is nothing to go on from yet.", "Start with 50 labels an axis.")
    waiting = [row for row in records(decided) if not pd.isna(row["more_labels"])]
    if waiting:
        parts = [
            f"about {number(row['more_labels'])} more on {_name(row['axis'])} for {row['next_grade']}"
            for row in waiting
        ]
        return _two(shows, f"Label {listing(parts)}.")
    weak, usable = _names(decided, "revise"), _names(decided, "usable")
    said = []
    if weak:
        said.append(f"More labels would not make it usable on {listing(weak)}: change the rubric.")
    if usable:
        said.append(f"More labels would not make it strong on {listing(usable)}; usable it is.")
    return _two(shows, " ".join(said) or "No more are needed; label anew when the judge changes.")


def confusion_caption(counts: pd.DataFrame, *, ordered: bool) -> str:
    """Say what `confusion_matrix` shows.

    Parameters
    ----------
    counts : as `evalnb.disagreements.confusion_table` gives it
    ordered : whether the levels have an order
    """
    total = int(counts.to_numpy().sum())
    if not total:
        return _two("Nobody rated an item that the judge rated, too.", "Label what it judged.")
    cells_of = counts.to_numpy()
    same = int(cells_of.trace())
    shows = (
        f"Rows are what people said, columns what the judge said, and framed is where both say the "
        f"same: {number(same)} of {count(total, 'item')} ({_percent(same, total)})."
    )
    cells = [
        (int(cells_of[row, column]), row, column)
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
    biases : as `evalnb.disagreements.bias_by_level` gives it
    """
    known = biases.dropna(subset=["bias"])
    if known.empty:
        return _two(
            "Too kind or too strict means nothing here: the levels have no order, or none was rated.",
            "Look at the table level by level above.",
        )
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


def ceiling_caption(ceiling: pd.DataFrame) -> str:
    """Say how far the judge could still be improved.

    Parameters
    ----------
    ceiling : as `evalnb.agreement.human_ceilings` gives it
    """
    found = {(row["axis"], row["metric"]): row for row in records(ceiling)}
    axes = [axis for axis, metric in found if metric == "human_human"]
    if all(pd.isna(found[axis, "human_human"]["estimate"]) for axis in axes):
        return _two(
            "One person rated, so that nobody knows how well two people would agree.",
            "Have a second person rate some of the same items: no judge can do better than people.",
        )
    shows = [
        f"{_name(axis)}: two people reach {decimal(found[axis, 'human_human']['estimate'])}, the "
        f"judge with one of them {decimal(found[axis, 'judge_human']['estimate'])}"
        for axis in axes
    ]
    highs = {axis: found[axis, "difference"]["ci_high"] for axis in axes}
    below = [_name(axis) for axis, high in highs.items() if not pd.isna(high) and high < 0]
    level = [_name(axis) for axis, high in highs.items() if not pd.isna(high) and high >= 0]
    advice: list[str] = []
    alphas = {axis: found[axis, "krippendorff_alpha"]["estimate"] for axis in axes}
    odd = [_name(axis) for axis, alpha in alphas.items() if not pd.isna(alpha) and alpha < 0]
    if odd:
        shows.append(
            f"on {listing(odd)} people's own alpha is below 0: they agree less than chance would have "
            "it, and are no measure for a judge"
        )
    if level:
        advice.append(
            f"On {listing(level)} no better prompt can be shown to help: first have people agree "
            "among themselves, by sharper levels with examples."
        )
    if below:
        advice.append(f"On {listing(below)} people agree better than the judge: work on the judge.")
    return _two("; ".join(shows) + ".", " ".join(advice) or "Label more items by two people.")


def slice_caption(slices: pd.DataFrame) -> str:
    """Say what a table of slices shows.

    Parameters
    ----------
    slices : as `evalnb.agreement.agreement_by_slice` gives it
    """
    known = slices.dropna(subset=["kappa", "ci_low", "ci_high"])
    if known.empty:
        return _two("There are no slices with enough labels.", "Label more, slice by slice.")
    kappas = known["kappa"].to_numpy(dtype="float64")
    low, high = known.iloc[int(kappas.argmin())], known.iloc[int(kappas.argmax())]
    shows = (
        f"Of {count(len(known), 'slice')}, agreement is lowest in {_where(low)} "
        f"({decimal(low['kappa'])}) and highest in {_where(high)} ({decimal(high['kappa'])})."
    )
    if low["ci_high"] >= high["ci_low"]:
        return _two(shows, "The intervals overlap: no slice is shown to be worse than another.")
    few = f" It has {count(low['n'], 'label')} only." if low["n"] < WORKING_MINIMUM else ""
    chance = (
        " Of so many slices the ends lie apart by chance, too: see whether new labels say the same."
        if len(known) > _MANY_SLICES
        else ""
    )
    return _two(shows, f"Read what the judge says in {_where(low)} first.{few}{chance}")


def disagreement_caption(disagreements: pd.DataFrame) -> str:
    """Say what the table of the largest disagreements is for; see `agreement`."""
    if disagreements.empty:
        return _two(
            "There is no item on which people and the judge differ.", "Nothing here to read."
        )
    sides = {"people_reasons": "people", "judge_reason": "the judge"}
    known = [name for column, name in sides.items() if disagreements[column].notna().any()]
    reasons = (
        f"with the reasons of {' and '.join(known)}" if known else "and nobody's reasons are known"
    )
    shows = (
        f"The {count(len(disagreements), 'item')} on which the judge and people lie furthest apart, "
        f"{reasons}."
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
        return _two(
            "Nothing is counted both ways: no verdict is unread, or this is no public data.",
            "Nothing to do; what is missing is counted above.",
        )
    pairs = counted.groupby(["axis", "judge"], sort=False)["kappa"]
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
    shows: list[str] = []
    advice: list[str] = []
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
        return _two("There are no two judges here.", "Let a cheaper one judge the same outputs.")
    return _two("; ".join(shows) + ".", " ".join(advice))


def study_notes(study: Study) -> str:
    """Say what a study is of, what it lacks, and what became of its labels."""
    lines = [study.about, *study.warnings]
    if len(study.counts):
        lines.append(join_caption(study.counts))
    if study.needs:
        lines.append(study.needs)
    return "\n".join(_filled(visible(line)) for line in lines)


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
    weak = [row for row in records(decided) if row["decision"] == "revise"]
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
    said = (f"What it shows. {shows}", f"What to do. {do}")
    return "\n".join(_filled(line) for text in said for line in text.split("\n"))


def _filled(text: str) -> str:
    """Break a text into lines between words: a notebook would break it anywhere."""
    return fill(text, _WIDTH, break_long_words=False, break_on_hyphens=False)


def _names(decided: pd.DataFrame, grade: str) -> list[str]:
    return [_name(axis) for axis in decided.loc[decided["decision"] == grade, "axis"]]


def _name(value: Any) -> str:
    return one_line(str(value), limit=60)


def _where(row: pd.Series) -> str:
    return f"{_name(row['slice'])} {_name(row['value'])}"


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.0f}%" if whole else "none"
