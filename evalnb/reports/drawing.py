"""What all figures share: colours, text that is only text, a figure that shows itself.

Colours are of the palette of Okabe and Ito; none carries a meaning alone.
"""

from __future__ import annotations

import io
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from matplotlib import font_manager
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.transforms import ScaledTranslation

from evalnb.reports.text import one_line

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "BLUE",
    "FAINT",
    "GRID",
    "INK",
    "ORANGE",
    "PALE_BLUE",
    "VERMILION",
    "ShownFigure",
    "aside",
    "drawable",
    "header",
    "label",
    "plain_axes",
]

INK = "#222222"
FAINT = "#6b6b6b"
GRID = "#e4e4e4"
BLUE = "#0072b2"
PALE_BLUE = "#cfe3f1"
ORANGE = "#f0b27a"
VERMILION = "#d55e00"

_PIXELS_PER_INCH = 96
"""How large a notebook shows a figure; the image has twice as many, for screens that can."""

_FAMILIES = (
    "DejaVu Sans",
    "Noto Sans CJK JP",
    "Noto Sans CJK SC",
    "Noto Sans JP",
    "Hiragino Sans",
    "Yu Gothic",
    "Microsoft YaHei",
    "Malgun Gothic",
    "Arial Unicode MS",
)
"""DejaVu Sans comes with matplotlib; the others know more scripts, where they are installed."""


class ShownFigure(Figure):
    """A figure that a notebook shows without pyplot.

    IPython learns to show matplotlib's own figures only when pyplot is imported.
    """

    def _repr_png_(self) -> tuple[bytes, dict[str, int]]:
        buffer = io.BytesIO()
        canvas = FigureCanvasAgg(self)
        canvas.print_figure(buffer, dpi=2 * _PIXELS_PER_INCH, facecolor="white")
        width, height = self.get_size_inches() * _PIXELS_PER_INCH
        return buffer.getvalue(), {"width": int(width), "height": int(height)}


def label(axes: Axes, x: float, y: float, text: str, *, limit: int = 40, **looks: Any) -> None:
    """Write text that may be hostile: one short line, in which nothing is a formula.

    Parameters
    ----------
    axes, x, y : where
    text : any text
    limit : the longest text to write, in characters
    **looks : properties of `matplotlib.text.Text`
    """
    options: dict[str, Any] = {
        "color": INK,
        "fontsize": 8,
        "va": "center",
        "family": _installed_families(),
    }
    axes.text(
        x, y, drawable(text, limit=limit), parse_math=False, usetex=False, **(options | looks)
    )


def aside(axes: Axes, inches: float, y: float, text: str, **looks: Any) -> None:
    """Write text that may be hostile beside axes, as `label` does.

    Parameters
    ----------
    axes, y : at which height
    inches : how far from the axes: right of them, or left where it is negative
    text, **looks : as `label` takes them
    """
    shift = ScaledTranslation(inches, 0, axes.figure.dpi_scale_trans)
    edge = 1 if inches > 0 else 0
    label(axes, edge, y, text, transform=axes.get_yaxis_transform() + shift, **looks)


def drawable(text: str, *, limit: int) -> str:
    """Return one short line; "□" stands for a character that no installed font has."""
    line = one_line(text, limit=limit)
    return "".join(character if _has_glyph(character) else "□" for character in line)


def plain_axes(figure: Figure) -> Axes:
    """Fill the figure with axes without a frame, in inches from its upper left corner."""
    width, height = figure.get_size_inches()
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, width), ylim=(height, 0))
    axes.set_axis_off()
    return axes


def header(axes: Axes, title: str, subtitle: str) -> None:
    """Write a title and a line below it over the top of `plain_axes`."""
    label(axes, 0.15, 0.22, title, limit=200, fontsize=12, fontweight="bold")
    label(axes, 0.15, 0.48, subtitle, limit=200, fontsize=9, color=FAINT)


@lru_cache(maxsize=1)
def _installed_families() -> list[str]:
    known = set(font_manager.fontManager.get_font_names())
    return [name for name in _FAMILIES if name in known]


@lru_cache(maxsize=1)
def _fonts() -> list[Any]:
    paths = [font_manager.findfont(name) for name in _installed_families()]
    return [font_manager.get_font(path) for path in paths]


@lru_cache(maxsize=4096)
def _has_glyph(character: str) -> bool:
    return any(font.get_char_index(ord(character)) for font in _fonts())
