"""Figures that people keep: each takes frames and axes, draws on these and returns them.

All can be read in black and white: what differs has another marker, line or hatch as well as another
colour.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from matplotlib.dates import date2num

from evalnb.frames import to_records
from evalnb.reports.drawing import (
    BLUE,
    FAINT,
    GRID,
    INK,
    ORANGE,
    PALE_BLUE,
    VERMILION,
    ShownFigure,
    drawable,
    label,
)
from evalnb.reports.judge_axes import draw_biases, draw_confusion, draw_effects, draw_reliability
from evalnb.reports.numbers import count, tokens

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import date

    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from evalnb.planning import Plan

__all__ = [
    "bias_levels",
    "bias_probes",
    "confusion",
    "cost",
    "coverage_plane",
    "drawn",
    "kappa_trend",
    "power_curve",
    "reliability",
    "slice_forest",
    "trend",
]

_MARKS = {
    "golden_version": (":", "golden set"),
    "judge_fingerprint": ("--", "judge"),
    "judge_answered": ("-.", "judge's model"),
    "system_fingerprint": ((0, (1, 4)), "system"),
}
_SHAPES = ("o", "s", "^", "D", "v", "P", "X", "*")
_MOST_SLICES = 30


def drawn(draw: Callable[..., Axes], *frames: Any, height: float = 3.6, **options: Any) -> Figure:
    """Draw one of these figures on a page of its own.

    Parameters
    ----------
    draw : a function of this module
    *frames, **options : what it takes after the axes
    height : in inches
    """
    figure = ShownFigure(figsize=(9.2, height), layout="constrained")
    draw(figure.add_subplot(), *frames, **options)
    return figure


def trend(
    axes: Axes, history: pd.DataFrame, changes: pd.DataFrame, *, scorer: str = "(case)"
) -> Axes:
    """Draw a score over time with its 95% interval, and where what it depends on changed.

    Parameters
    ----------
    axes : to draw on
    history : as `evalnb.history` gives it
    changes : as `evalnb.review.changes.changes_of` gives it
    scorer : which; `(case)` is the pass rate of cases

    Returns
    -------
    the axes; what cannot be compared is not joined by a line
    """
    rows = history[(history["scorer"] == scorer) & history["mean"].notna()]
    _plain(axes, f"{_named(scorer)} over time, 95% interval")
    if rows.empty:
        return _nothing(axes, "no run yet")
    for number, (_, part) in enumerate(rows.groupby("series", sort=True)):
        days = _days(part["at"])
        low, high = (part[name].astype("float64").fillna(np.nan) for name in ("ci_low", "ci_high"))
        axes.fill_between(days, low, high, color=PALE_BLUE, alpha=0.7, lw=0)
        axes.plot(days, part["mean"].astype("float64"), color=BLUE, lw=1.2)
        axes.plot(
            days, part["mean"].astype("float64"), _SHAPES[number % len(_SHAPES)],
            color=BLUE, markersize=3,
        )  # fmt: skip
    blocked = rows[rows["outcome"].eq("fail").fillna(value=False)]
    if len(blocked):
        axes.plot(
            _days(blocked["at"]), blocked["mean"].astype("float64"), "x", color=VERMILION,
            markersize=6, label=f"blocked ({len(blocked)} runs)",
        )  # fmt: skip
    _mark(axes, changes, scorer)
    axes.set_ylim(min(0.0, float(rows["mean"].min())), max(1.0, float(rows["mean"].max())))
    axes.set_ylabel(f"mean, n = {_range(rows['n'])}", fontsize=8, color=FAINT)
    _legend(axes)
    return axes


def slice_forest(axes: Axes, slices: pd.DataFrame) -> Axes:
    """Draw pass rates by slice with their 95% intervals, beside the baseline's.

    Parameters
    ----------
    axes : to draw on
    slices : a slices frame; up to 30 rows with most cases are shown

    Returns
    -------
    the axes
    """
    scored = slices[slices["n_scored"] > 0]
    kept = scored.loc[scored["n_scored"].nlargest(_MOST_SLICES).sort_index().index]
    more = f", {len(kept)} of {len(scored)}" if len(kept) < len(scored) else ""
    _plain(axes, f"Pass rate by slice, 95% interval{more}", grid="x")
    if kept.empty:
        return _nothing(axes, "no case was scored")
    for y, row in enumerate(to_records(kept)):
        axes.plot([row["ci_low"], row["ci_high"]], [y, y], color=BLUE, lw=1.4)
        axes.plot(row["pass_rate"], y, "o", color=BLUE, markersize=5)
        if "baseline_pass_rate" in row:
            axes.plot(row["baseline_pass_rate"], y, "D", color=INK, markersize=6, fillstyle="none")
    names = [
        "all cases" if row["slice"] == "all" else f"{row['slice']}: {row.get('value', '–')}"
        for row in to_records(kept)
    ]
    counts = [tokens(n) for n in kept["n_scored"]]
    axes.set_yticks(
        range(len(kept)),
        [f"{drawable(name, limit=36)}  n = {n}" for name, n in zip(names, counts, strict=True)],
        fontsize=8,
        parse_math=False,
    )
    axes.set(xlim=(0, 1), ylim=(len(kept) - 0.4, -0.6))
    axes.plot([], [], "o-", color=BLUE, label="pass rate")
    axes.plot([], [], "D", color=INK, fillstyle="none", label="baseline")
    _legend(axes)
    return axes


def power_curve(axes: Axes, planned: Plan, *, share: float = 0.8) -> Axes:
    """Draw how likely the gate finds a drop, by its size and the number of repeats.

    Parameters
    ----------
    axes : to draw on
    planned : as `evalnb.plan` makes it
    share : of runs, that is marked

    Returns
    -------
    the axes
    """
    _plain(axes, f"Power of the gate, {planned.cases} cases, {planned.tests} tests")
    drops = np.linspace(0.005, max(0.05, min(0.6, planned.rate)), 40)
    lines = ("-", "--", "-.", ":")
    for line, repeats in zip(lines, sorted({1, planned.repeats, 3, 5}), strict=False):
        power = [planned.power(float(drop), repeats=repeats) for drop in drops]
        axes.plot(drops, power, line, color=INK if repeats == planned.repeats else BLUE,
                  lw=2 if repeats == planned.repeats else 1.2,
                  label=f"{repeats} repeats" if repeats > 1 else "1 repeat")  # fmt: skip
    axes.axhline(share, color=FAINT, lw=0.8, ls=":")
    label(
        axes, float(drops[-1]), share, f"{share:.0%} of runs", ha="right", va="bottom", color=FAINT
    )
    axes.axvline(planned.margin, color=FAINT, lw=0.8)
    axes.set(xlim=(0, float(drops[-1])), ylim=(0, 1.02))
    axes.set_xlabel("drop of the pass rate", fontsize=8, color=FAINT)
    axes.set_ylabel("found in this share of runs", fontsize=8, color=FAINT)
    _legend(axes)
    return axes


def coverage_plane(axes: Axes, points: pd.DataFrame) -> Axes:
    """Draw traffic and golden cases on a plane.

    Parameters
    ----------
    axes : to draw on
    points : as `evalnb.review.plane.coverage_points` gives it

    Returns
    -------
    the axes
    """
    _plain(axes, "Traffic and golden cases, two directions of many")
    if points.empty:
        return _nothing(axes, "too little traffic")
    looks = {
        "near": ("o", FAINT, "none", "conversation near a case"),
        "case": ("+", BLUE, BLUE, "golden case"),
        "far": ("^", VERMILION, VERMILION, "conversation far from every case"),
    }
    for kind, (shape, colour, fill, name) in looks.items():
        rows = points[points["kind"] == kind]
        axes.plot(
            rows["x"].astype("float64"), rows["y"].astype("float64"), shape, color=colour,
            markerfacecolor=fill, markersize=5, label=f"{name} (n = {len(rows):,})",
        )  # fmt: skip
    axes.set(xticks=[], yticks=[])
    _legend(axes)
    return axes


def cost(axes: Axes, spending: pd.DataFrame) -> Axes:
    """Draw what runs cost by month, what the month will come to, and the budget.

    Parameters
    ----------
    axes : to draw on
    spending : as `evalnb.review.spending.spending_by_month` gives it

    Returns
    -------
    the axes
    """
    _plain(axes, "Cost by month, US dollars", grid="y")
    known = spending[spending["cost_usd"].notna()]
    if known.empty:
        return _nothing(axes, "no run has a known cost")
    total, judges, planned = (
        known[name].astype("float64").fillna(0.0)
        for name in ("cost_usd", "judge_cost_usd", "projected_usd")
    )
    at = np.arange(len(known))
    axes.bar(at, total - judges, color=BLUE, width=0.6, label="system")
    axes.bar(at, judges, bottom=total - judges, color=ORANGE, width=0.6, hatch="///",
             edgecolor="white", lw=0, label="judges")  # fmt: skip
    rest = (planned - total).clip(lower=0)
    axes.bar(at, rest, bottom=total, width=0.6, fill=False, edgecolor=INK, ls="--",
             label="projected")  # fmt: skip
    for x, row, top in zip(at, to_records(known), planned.combine(total, max), strict=True):
        label(
            axes,
            float(x),
            float(top),
            f"n = {row['n_runs']}",
            ha="center",
            va="bottom",
            color=FAINT,
        )
    budget = known["budget_usd"].dropna()
    if len(budget):
        axes.axhline(float(budget.iloc[-1]), color=VERMILION, ls="-.", lw=1.4, label="budget")
    axes.set_xticks(at, known["month"].tolist(), fontsize=8)
    axes.set_ylim(0, 1.15 * max([*planned.combine(total, max), *budget]))
    _legend(axes)
    return axes


def kappa_trend(
    axes: Axes, kappas: pd.DataFrame, *, usable: float = 0.6, expires: date | None = None
) -> Axes:
    """Draw kappa by month and axis with its 95% interval, against what is usable.

    Parameters
    ----------
    axes : to draw on
    kappas : as `evalnb.review.kappas.kappas_over_time` gives it
    usable : from where on a judge is
    expires : the last day of the certificate, where there is one

    Returns
    -------
    the axes
    """
    _plain(axes, "Agreement of judge and people over time: kappa, 95% interval")
    rows = kappas[kappas["ci_low"].notna()]
    if rows.empty:
        return _nothing(axes, "no labels yet")
    months = sorted(kappas["month"].unique())
    names = rows["axis"].unique()
    for number, axis in enumerate(names):
        part = rows[rows["axis"] == axis]
        shift = (number - (len(names) - 1) / 2) * 0.12
        x = np.array([months.index(month) for month in part["month"]]) + shift
        middle, low, high = (
            part[name].astype("float64").to_numpy() for name in ("estimate", "ci_low", "ci_high")
        )
        axes.vlines(x, low, high, color=FAINT, lw=1)
        counts = f"n = {_range(part['n'])}"
        axes.plot(x, middle, _SHAPES[number % len(_SHAPES)], color=BLUE if number % 2 else INK,
                  markersize=5, label=f"{drawable(str(axis), limit=20)} ({counts})")  # fmt: skip
    axes.axhline(usable, color=VERMILION, ls="-.", lw=1.2)
    label(axes, -0.4, usable, f"usable from {usable:g}", va="bottom", color=FAINT)
    if expires is not None and f"{expires:%Y-%m}" in months:
        end = months.index(f"{expires:%Y-%m}") + (expires.day - 1) / 31 - 0.5
        axes.axvline(end, color=INK, ls=":", lw=1.2)
        label(axes, end + 0.03, 0.02, f" certificate until {expires}", rotation=90, ha="left", va="bottom", fontsize=7,
              transform=axes.get_xaxis_transform())  # fmt: skip
    _mark_judges(axes, rows, months)
    axes.set_xticks(range(len(months)), months, fontsize=8)
    axes.set(xlim=(-0.5, len(months) - 0.5), ylim=(min(0.0, float(rows["ci_low"].min())), 1.02))
    _legend(axes)
    return axes


def confusion(axes: Axes, counts: pd.DataFrame, *, judge: str = "the judge") -> Axes:
    """Draw how often each level of people's met each of the judge's.

    Parameters
    ----------
    axes : to draw on; levels and counts stand beside them
    counts : as `evalnb.disagreements.confusion_table` gives it
    judge : whose levels the columns are

    Returns
    -------
    the axes
    """
    total = int(counts.to_numpy().sum())
    same = int(np.trace(counts.to_numpy())) if len(counts) else 0
    title = f"People and {judge}: the same on {tokens(same)} of {count(total, 'item')}"
    _plain(axes, title, pad=48)
    axes.grid(visible=False)
    return draw_confusion(axes, counts, judge=judge) if total else _nothing(axes, "no labels yet")


def reliability(axes: Axes, levels: pd.DataFrame, *, judge: str = "the judge") -> Axes:
    """Draw what people say, on average, of what the judge puts on each level.

    Parameters
    ----------
    axes : to draw on
    levels : of one axis, as `evalnb.disagreements.reliability_by_level` gives it
    judge : whose levels they are

    Returns
    -------
    the axes; on the dashed line a level means to the judge what it means to people
    """
    _plain(axes, f"What people say of {judge}'s levels, 95% interval")
    if not levels["people"].notna().any():
        return _nothing(axes, "no labels yet")
    return draw_reliability(axes, levels, judge=judge)


def bias_levels(axes: Axes, biases: pd.DataFrame, *, judge: str = "the judge") -> Axes:
    """Draw how far the judge is above or below people, by what people said.

    Parameters
    ----------
    axes : to draw on; levels, n and values stand beside them
    biases : of one axis, as `evalnb.disagreements.bias_by_level` gives it
    judge : whose they are

    Returns
    -------
    the axes; left of 0 the judge is stricter
    """
    _plain(axes, f"{judge} less people, 95% interval", grid="x")
    if not biases["bias"].notna().any():
        return _nothing(axes, "no labels yet")
    return draw_biases(axes, biases)


def bias_probes(axes: Axes, effects: pd.DataFrame) -> Axes:
    """Draw how far judges move by what should not move them, beside their own noise.

    Parameters
    ----------
    axes : to draw on; judges, n and values stand beside them
    effects : a frame of probe effects

    Returns
    -------
    the axes, in points: of a rate in percent, of levels in percent of the scale's span
    """
    _plain(axes, "What sways the judges, in points, 95% interval; tick and band: noise", grid="x")
    if effects.empty:
        return _nothing(axes, "no judge was probed")
    return draw_effects(axes, effects)


def _plain(
    axes: Axes, title: str, *, grid: Literal["both", "x", "y"] = "both", pad: float | None = None
) -> None:
    axes.set_title(
        drawable(title, limit=90), loc="left", fontsize=10, fontweight="bold", color=INK, pad=pad,
        parse_math=False,
    )  # fmt: skip
    axes.grid(axis=grid, color=GRID, lw=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(GRID)
    axes.tick_params(length=0, labelsize=8, labelcolor=FAINT)


def _nothing(axes: Axes, why: str) -> Axes:
    label(axes, 0.5, 0.5, why, ha="center", transform=axes.transAxes, color=FAINT)
    axes.set(xticks=[], yticks=[])
    return axes


def _legend(axes: Axes) -> None:
    if axes.get_legend_handles_labels()[1]:
        axes.legend(
            fontsize=7.5, frameon=False, ncols=5, loc="upper left", bbox_to_anchor=(0, -0.12),
            borderaxespad=0.2, handlelength=2.6,
        )  # fmt: skip


def _mark(axes: Axes, changes: pd.DataFrame, scorer: str) -> None:
    seen: set[str] = set()
    rows = to_records(changes)
    judges = {row["day"] for row in rows if row["what"] == "judge_fingerprint"}
    for row in rows:
        if row["what"] == "judge_answered" and row["day"] in judges:
            continue  # said by the judge's own line
        if "scorer" in row and scorer not in ("(case)", *row["scorer"].split(", ")):
            continue
        line, name = _MARKS[row["what"]]
        day = float(date2num(np.datetime64(row["day"])))  # type: ignore[no-untyped-call]
        said = None if name in seen else f"another {name}"
        axes.axvline(day, color=INK, ls=line, lw=1.1, label=said)
        seen.add(name)


def _mark_judges(axes: Axes, kappas: pd.DataFrame, months: Sequence[str]) -> None:
    """Draw a line before each month in which an axis has another judge than in the month before."""
    changed = {
        now["month"]
        for _, part in kappas.groupby("axis", sort=True)
        for before, now in itertools.pairwise(to_records(part))
        if before.get("judge_fingerprint") != now.get("judge_fingerprint")
    }
    for number, month in enumerate(sorted(changed)):
        axes.axvline(months.index(month) - 0.5, color=INK, ls="--", lw=1.1,
                     label=None if number else "another judge")  # fmt: skip


def _days(at: pd.Series) -> np.ndarray:
    return at.str[:10].to_numpy(dtype="datetime64[D]")


def _range(n: pd.Series) -> str:
    low, high = int(n.min()), int(n.max())
    return tokens(low) if low == high else f"{tokens(low)} to {tokens(high)}"


def _named(scorer: str) -> str:
    return "Pass rate of cases" if scorer == "(case)" else f"Score of {scorer}"
