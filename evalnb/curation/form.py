"""The labelling form of a notebook: a view of a labelling, for keys, mouse and screen reader."""

from __future__ import annotations

import html
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

import anywidget

from evalnb.curation.exchange import respond

if TYPE_CHECKING:
    from evalnb.curation.labelling import Labelling

__all__ = ["LabelForm"]

_HERE = Path(__file__).parent


class LabelForm(anywidget.AnyWidget):
    """A form that shows one item after the other and writes what the rater says of it.

    The rater's file is the state: a form that is made anew, after a restart or beside another one,
    goes on where the file ends. Of the items, nothing is stored in the notebook.

    Parameters
    ----------
    labelling : one rater's way through items

    Examples
    --------
    >>> golden = evalnb.read_golden("golden/support")  # doctest: +SKIP
    >>> LabelForm(open_labelling(golden, "anna"))  # doctest: +SKIP
    """

    _esm = _HERE / "form.js"
    _css = _HERE / "form.css"

    def __init__(self, labelling: Labelling) -> None:
        super().__init__()
        self.labelling = labelling
        self._one_at_a_time = Lock()
        self.on_msg(self._on_message)

    def _on_message(self, _widget: Any, message: Any, _buffers: Any) -> None:
        # JupyterLab may hand messages to another thread, so that they need not wait for a cell.
        with self._one_at_a_time:
            self.send(respond(self.labelling, message))

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        """Show how far it has come where there is no kernel behind the form."""
        made = super()._repr_mimebundle_(**kwargs)
        if made is None:
            return None
        bundle, metadata = made
        text = f"Label form: {self.labelling.progress}"
        return {**bundle, "text/plain": text, "text/html": f"<p>{html.escape(text)}</p>"}, metadata
