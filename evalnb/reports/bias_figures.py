"""The figure of what sways judges: all effects on one axis, beside the noise."""

from __future__ import annotations

from typing import TYPE_CHECKING

from matplotlib.patches import Rectangle

from evalnb.reports.bias_words import effect_groups
from evalnb.reports.drawing import (
    FAINT,
    GRID,
    INK,
    PALE_BLUE,
    ShownFigure,
    header,
    label,
    plain_axes,
)
from evalnb.reports.judge_axes import GROUP_LINES, VERDICTS, draw_effects

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["bias_effects"]

_WIDTH = 11.0
_LEFT, _RIGHT = 4.1, 2.35
_TOP, _ROW, _BOTTOM = 1.35, 0.205, 0.5
_SIGNS = (
    "more than noise, and matters",
    "more than noise, but small",
    "not shown to be more than noise",
    "noise not known",
)


def bias_effects(effects: pd.DataFrame) -> Figure:
    """Draw every effect with its interval on one axis, and the noise that it is held against.

    Parameters
    ----------
    effects : a frame of probe effects

    Returns
    -------
    a figure
        The axis is in points: of a rate in percent, of levels in percent of the scale's span. A
        tick is the noise floor, the band around it is what would be too small to matter.
    """
    groups = list(effect_groups(effects))
    if not groups:
        figure = ShownFigure(figsize=(_WIDTH, 0.75))
        header(plain_axes(figure), "What sways the judges", "no judge was probed")
        return figure
    n_lines = sum(len(rows) + GROUP_LINES for _, rows in groups)
    figure = ShownFigure(figsize=(_WIDTH, _TOP + _ROW * n_lines + _BOTTOM))
    page = plain_axes(figure)
    header(
        page,
        "What sways the judges, beside their own noise",
        "how far each moves by what should not move it, with 95% intervals; a row for each axis or "
        "set of data",
    )
    label(
        page,
        0.15,
        0.72,
        "dark names: judges of the suite; grey: public ones. More than noise: at 5% over all probes "
        "of a judge and axis (Holm). Band: too small to matter",
        limit=170,
        fontsize=8,
        color=FAINT,
    )
    _draw_signs(page)
    axes = _points_axes(figure, n_lines)
    draw_effects(axes, effects)
    return figure


def _points_axes(figure: Figure, n_lines: float) -> Axes:
    width, height = figure.get_size_inches()
    extent = _ROW * n_lines
    axes = figure.add_axes(
        (
            _LEFT / width,
            1 - (_TOP + extent) / height,
            (width - _LEFT - _RIGHT) / width,
            extent / height,
        )
    )
    axes.tick_params(axis="x", length=0, labelsize=8, labelcolor=FAINT)
    label(
        axes,
        0,
        n_lines + 2.0,
        "points: of a share in percent, of levels in percent of the scale from lowest to highest",
        limit=100,
        ha="center",
        fontsize=7.5,
        color=FAINT,
    )
    axes.grid(axis="x", color=GRID, lw=0.8)
    axes.set_axisbelow(True)
    axes.spines[:].set_visible(False)
    axes.patch.set_visible(False)
    return axes


def _draw_signs(page: Axes) -> None:
    y, x = 1.05, 0.2
    for (colour, sign, _), said in zip(VERDICTS.values(), _SIGNS, strict=True):
        page.plot([x, x + 0.24], [y, y], color=colour, lw=1.8)
        page.plot(x + 0.12, y, color=colour, **sign)
        label(page, x + 0.32, y, said, limit=60)
        x += 0.5 + 0.063 * len(said)
    page.add_patch(Rectangle((x, y - 0.08), 0.3, 0.16, color=PALE_BLUE, lw=0))
    page.plot([x + 0.15, x + 0.15], [y - 0.08, y + 0.08], color=INK, lw=1.4)
    label(page, x + 0.4, y, "noise: the judge without the change", limit=60)
