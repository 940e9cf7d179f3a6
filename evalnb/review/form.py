"""The checklist as a form in a notebook."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evalnb.errors import EvalnbError
from evalnb.places import shown_from_here
from evalnb.review.checklist import ITEMS, write_checklist

if TYPE_CHECKING:
    from evalnb.review.review import Review

__all__ = ["checklist_form"]


def checklist_form(review: Review, by: str) -> Any:
    """Return a form with an item a line: a box to tick, and what there is to say of it.

    Parameters
    ----------
    review : what was looked at
    by : who reviews

    Returns
    -------
    an ipywidgets box; nothing is written before its button is pressed
    """
    import ipywidgets as widgets

    wide = widgets.Layout(width="auto", flex="1 1 auto")
    boxes = {
        name: widgets.Checkbox(description=item, indent=False, layout=wide)
        for name, item in ITEMS.items()
    }
    notes = {
        name: widgets.Text(placeholder="note", layout=widgets.Layout(width="20em"))
        for name in ITEMS
    }
    said = widgets.Label(value="Not saved yet.")
    button = widgets.Button(description="Save the review", button_style="primary")

    def save(_: Any) -> None:
        ticked = [name for name, box in boxes.items() if box.value]
        texts = {name: note.value for name, note in notes.items() if note.value.strip()}
        try:
            paths = write_checklist(review, ticked, texts, by)
        except (EvalnbError, OSError) as error:
            said.value = f"Not saved: {error}"
            return
        said.value = f"Saved: {', '.join(shown_from_here(path) for path in paths)}"

    button.on_click(save)
    rows = [widgets.HBox([boxes[name], notes[name]]) for name in ITEMS]
    return widgets.VBox([*rows, widgets.HBox([button, said])])
