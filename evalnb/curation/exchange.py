"""What a form and the kernel say to each other, as plain Python.

Every message of the form is answered after what it asked for is on disk, or with what was wrong.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from evalnb.errors import InputError, Problem

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from evalnb.curation.labelling import Labelling

__all__ = ["Session", "answer_to", "respond", "state_of", "told_problems"]

_SHOWN_PROBLEMS = 5
_STALE = "That item was done already, here or in another form: nothing was written again."


class Named(Protocol):
    """An item that has a name."""

    @property
    def id(self) -> str:
        """Says which item it is, and nothing of it."""


class Session(Protocol):
    """One person's way through items, whose state is a file."""

    @property
    def current(self) -> Named | None:
        """The item that is to be decided."""

    def catch_up(self) -> None:
        """Read what was written since the last time."""


AnySession = TypeVar("AnySession", bound=Session)


def respond(labelling: Labelling, message: Mapping[str, Any]) -> dict[str, Any]:
    """Do what a message of the labelling form asks for; return the answer to it.

    Parameters
    ----------
    labelling : what the message is about; changed
    message : `act` is `show`, `choose` (with `axis` and `answer`), `note` (with `note`), `save`
        (with `answers` by axis and `note`), `skip` (with `note`) or `undo`; for the rest see
        `answer_to`

    Returns
    -------
    an answer as `answer_to` gives it, with the state that `state_of` returns
    """
    return answer_to(labelling, message, _done, state_of)


def answer_to(
    session: AnySession,
    message: Mapping[str, Any],
    do: Callable[[AnySession, Mapping[str, Any]], str],
    state: Callable[[AnySession], dict[str, Any]],
) -> dict[str, Any]:
    """Do what a message asks for; return the answer to it.

    What is done to an item is done only while it is the current one: a key that was pressed twice,
    or in a second form that has fallen behind, does nothing.

    Parameters
    ----------
    session : what the message is about; changed
    message : `act` is what to do; `item` is the id of the item that it is about, and `seq` comes
        back in the answer
    do : does it, and says what happened
    state : returns all that a form shows

    Returns
    -------
    seq : that of the message
    said : what happened, in words
    error : what was wrong, but for what `problems` says; None where nothing was
    problems : field and message of each thing wrong with the item, where that is what was wrong
    is_stale : whether it was about an item that is not the current one any more
    state : what `state` returns
    """
    said, error, is_stale = "", None, False
    problems: Sequence[Problem] = ()
    try:
        session.catch_up()
        is_stale = _is_stale(session, message)
        said = _STALE if is_stale else do(session, message)
    except InputError as problem:
        problems = problem.problems
        error = problem.message if all(one.field for one in problems) else str(problem)
    except ValueError as problem:
        error = str(problem)
    return {
        "seq": message.get("seq"),
        "said": said,
        "error": error,
        "problems": [
            {"field": one.field, "message": f"{one.message} {one.remedy}".strip()}
            for one in problems
            if one.field
        ],
        "is_stale": is_stale,
        "state": state(session),
    }


def state_of(labelling: Labelling) -> dict[str, Any]:
    """Return all that a form shows.

    Returns
    -------
    rater, source, path : whose labels, of what, and the file they go to
    is_anonymous : whether nobody has said who rates
    item : see `Labelling.shown`
    n, n_labelled, n_skipped, n_left, seconds_an_item : see `Progress`
    can_undo : whether there is an action to take back
    problems, n_problems : the first lines of the file that could not be used, and how many there are
    """
    progress = labelling.progress
    return {
        "rater": labelling.rater,
        "source": labelling.source,
        "path": str(labelling.path),
        "is_anonymous": labelling.is_anonymous,
        "item": labelling.shown(),
        "n": progress.n,
        "n_labelled": progress.n_labelled,
        "n_skipped": progress.n_skipped,
        "n_left": progress.n_left,
        "seconds_an_item": progress.seconds_an_item,
        "can_undo": labelling.can_undo,
        **told_problems(labelling.problems),
    }


def told_problems(problems: Sequence[Problem]) -> dict[str, Any]:
    """Return the first problems of a file in words as `problems`, and all counted, `n_problems`."""
    return {
        "problems": [str(problem) for problem in problems[:_SHOWN_PROBLEMS]],
        "n_problems": len(problems),
    }


def _done(labelling: Labelling, message: Mapping[str, Any]) -> str:
    match message.get("act"):
        case "show":
            return ""
        case "choose":
            labelling.label(message["axis"], message["answer"])
            return ""
        case "note":
            labelling.note(str(message["note"]))
            return ""
        case "save":
            for axis, answer in message["answers"].items():
                labelling.label(axis, answer)
            labelling.note(str(message["note"]))
            labelling.save()
            return "Saved."
        case "skip":
            labelling.note(str(message["note"]))
            labelling.skip()
            return "Skipped."
        case "undo":
            labelling.undo()
            return "Taken back: answer anew, or save as it was."
        case act:
            raise ValueError(f"the form sent {act!r}, which nobody knows: run its cell again")


def _is_stale(session: Session, message: Mapping[str, Any]) -> bool:
    current = session.current.id if session.current else ""
    return message.get("act") != "show" and message.get("item") != current
