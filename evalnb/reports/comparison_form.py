"""The answers of a comparison to look through, for JupyterLab: by keys or mouse.

`CaseChoice` is the state, plain Python; `chooser` is its face.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, get_args

from evalnb.reports.comparison_tables import (
    Which,
    beside,
    compared_scorers,
    reasons_table,
    select_cases,
)
from evalnb.reports.text import one_line

if TYPE_CHECKING:
    import pandas as pd

    from evalnb.comparing import Comparison

__all__ = ["CaseChoice", "chooser"]

_ALL = "all"
_ROWS = 8


@dataclass(frozen=True)
class CaseChoice:
    """Which answers are listed, and which one is open.

    Attributes
    ----------
    comparison : whose answers
    which : all that changed, or those of cases that got worse or better
    member : a slice such as `category=orders`; all cases where empty
    scorer : only cases that it scored, worse or better by it; all cases where empty
    """

    comparison: Comparison
    which: Which = "changed"
    member: str = ""
    scorer: str = ""

    @property
    def cases(self) -> pd.DataFrame:
        """The answers to choose from, a differences frame."""
        return select_cases(self.comparison, self.which, member=self.member, scorer=self.scorer)

    @property
    def slices(self) -> list[str]:
        """The slices to choose from."""
        names = self.comparison.scores["slice"].unique().tolist()
        return [name for name in names if "=" in name]

    def labels(self) -> list[str]:
        """Return a line an answer: case, repeat, and the states before and now."""
        rows = self.cases[["case_id", "repeat", "state_before", "state_now"]].astype("object")
        return [
            one_line(f"{case_id}, repeat {repeat}: {_state(before)} → {_state(now)}")
            for case_id, repeat, before, now in rows.itertuples(index=False)
        ]

    def opened(self, place: int | None) -> str:
        """Return the HTML of one answer on both sides with its scores; all text is escaped.

        Parameters
        ----------
        place : position in `cases`; None where none is chosen
        """
        cases = self.cases
        if place is None or place >= len(cases):
            return "No answer is chosen."
        chosen = cases.iloc[[place]]
        case_id, repeat = str(chosen["case_id"].iloc[0]), int(chosen["repeat"].iloc[0])
        reasons: str = reasons_table(self.comparison, case_id, repeat).to_html()
        return beside(self.comparison, chosen)._repr_html_() + reasons


def chooser(
    comparison: Comparison, which: Which = "changed", member: str = "", scorer: str = ""
) -> Any:
    """Make the widget: what is listed, the list, and the answer that is open.

    Tab goes from one control to the next, the arrow keys through the list; each answer opens as it
    is reached. Without a person, the first is open.

    Parameters
    ----------
    comparison : any
    which, member, scorer : what is listed at first, as for `select_cases`
    """
    from ipywidgets import HTML, Dropdown, HBox, Select, VBox

    from evalnb.reports.key_guard import KeyGuard

    kinds = Dropdown(options=get_args(Which), value=which, description="Show")
    names = CaseChoice(comparison).slices
    if member and member not in names:
        names = [member, *names]
    slices = Dropdown(options=[_ALL, *names], value=member or _ALL, description="Of")
    scorers = Dropdown(
        options=[_ALL, *compared_scorers(comparison)], value=scorer or _ALL, description="By"
    )
    listed = Select(rows=_ROWS, description="Answer", layout={"width": "48em"})
    shown = HTML()

    def choice() -> CaseChoice:
        chosen = ("" if one.value == _ALL else str(one.value) for one in (slices, scorers))
        return CaseChoice(comparison, kinds.value, *chosen)

    def reopen(_: Any = None) -> None:
        shown.value = choice().opened(listed.value)

    def relist(_: Any = None) -> None:
        labels = choice().labels()
        listed.options = [(label, place) for place, label in enumerate(labels)]
        listed.value = 0 if labels else None
        reopen()

    for one in (kinds, slices, scorers):
        one.observe(relist, "value")
    listed.observe(reopen, "value")
    relist()
    return VBox([HBox([kinds, slices, scorers]), listed, shown, KeyGuard()])


def _state(state: Any) -> str:
    return state if isinstance(state, str) else "not scored"
