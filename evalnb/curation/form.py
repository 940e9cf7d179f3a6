"""Forms of a notebook, for keys, mouse and screen reader: views of a session, which is a file."""

from __future__ import annotations

import html
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

import anywidget

from evalnb.curation.exchange import respond
from evalnb.curation.staging.exchange import respond_to_curator

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from evalnb.curation.labelling import Labelling
    from evalnb.curation.staging.curating import Curating

__all__ = ["CurationForm", "LabelForm"]

_HERE = Path(__file__).parent


def _front(name: str) -> str:
    """Return what runs in the browser: what the forms have in common, then what one adds."""
    return "".join((_HERE / file).read_text("utf-8") for file in ("form_base.js", name))


class _Form(anywidget.AnyWidget):
    """Hands messages to a session, one at a time, and its answers back."""

    _css = _HERE / "form.css"

    def __init__(
        self,
        respond: Callable[[Mapping[str, Any]], dict[str, Any]],
        describe: Callable[[], str],
    ) -> None:
        super().__init__()
        self._respond = respond
        self._describe = describe
        self._one_at_a_time = Lock()
        self.on_msg(self._on_message)

    def _on_message(self, _widget: Any, message: Any, _buffers: Any) -> None:
        # JupyterLab may hand messages to another thread, so that they need not wait for a cell.
        with self._one_at_a_time:
            self.send(self._respond(message))

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        """Show how far it has come where there is no kernel behind the form."""
        made = super()._repr_mimebundle_(**kwargs)
        if made is None:
            return None
        bundle, metadata = made
        text = self._describe()
        return {**bundle, "text/plain": text, "text/html": f"<p>{html.escape(text)}</p>"}, metadata


class LabelForm(_Form):
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

    _esm = _front("label_form.js")

    def __init__(self, labelling: Labelling) -> None:
        self.labelling = labelling
        super().__init__(
            lambda message: respond(labelling, message),
            lambda: f"Label form: {labelling.progress}",
        )


class CurationForm(_Form):
    """A form that shows one candidate after the other and writes what the curator makes of it.

    The curator's file is the state, as a rater's is for `LabelForm`.

    Parameters
    ----------
    curating : one curator's way through candidates

    Examples
    --------
    >>> CurationForm(open_curating(golden, "anna", candidates, logs))  # doctest: +SKIP
    """

    _esm = _front("curation_form.js")

    def __init__(self, curating: Curating) -> None:
        self.curating = curating
        super().__init__(
            lambda message: respond_to_curator(curating, message),
            lambda: f"Curation form: {curating.progress}",
        )
