"""What the curation form and the kernel say to each other, as plain Python."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evalnb.curation.exchange import answer_to, told_problems

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evalnb.curation.staging.curating import Curating

__all__ = ["curating_state", "respond_to_curator"]


def respond_to_curator(curating: Curating, message: Mapping[str, Any]) -> dict[str, Any]:
    """Do what a message of the curation form asks for; return the answer to it.

    Parameters
    ----------
    curating : what the message is about; changed
    message : `act` is `show`, `edit` or `accept` (with `edits`), `reject` (with `reason`), `skip` or
        `undo`; for the rest see `answer_to`

    Returns
    -------
    an answer as `answer_to` gives it, with the state that `curating_state` returns
    """
    return answer_to(curating, message, _done, curating_state)


def curating_state(curating: Curating) -> dict[str, Any]:
    """Return all that a form shows.

    Returns
    -------
    curator, path : whose decisions, and the file they go to
    is_anonymous : whether nobody has said who curates
    item : see `Curating.shown`
    n, n_accepted, n_rejected, n_skipped, n_left, seconds_an_item : see `CuratingProgress`
    can_undo : whether there is a decision to take back
    problems, n_problems : see `told_problems`
    """
    progress = curating.progress
    return {
        "curator": curating.curator,
        "path": str(curating.path),
        "is_anonymous": curating.is_anonymous,
        "item": curating.shown(),
        "n": progress.n,
        "n_accepted": progress.n_accepted,
        "n_rejected": progress.n_rejected,
        "n_skipped": progress.n_skipped,
        "n_left": progress.n_left,
        "seconds_an_item": progress.seconds_an_item,
        "can_undo": curating.can_undo,
        **told_problems(curating.problems),
    }


def _done(curating: Curating, message: Mapping[str, Any]) -> str:
    match message.get("act"):
        case "show":
            return ""
        case "edit":
            curating.edit(message["edits"])
            return ""
        case "accept":
            return f"Accepted as {curating.accept(message['edits']).id}."
        case "reject":
            curating.reject(str(message["reason"]))
            return "Rejected."
        case "skip":
            curating.skip()
            return "Skipped."
        case "undo":
            curating.undo()
            return "Taken back: decide anew."
        case act:
            raise ValueError(f"the form sent {act!r}, which nobody knows: run its cell again")
