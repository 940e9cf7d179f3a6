"""Playing the turns of a case against live replies, for any system."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evalnb.cases import Message
from evalnb.systems.outputs import STEP_LIMIT, Output, as_output

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Sequence

    from evalnb.cases import Case

__all__ = ["opening", "play"]

# Ends after which there is no reply that a conversation could go on from.
_ENDINGS = frozenset({"refusal", STEP_LIMIT})


async def play(case: Case, answer: Callable[[Case], Awaitable[Output | str]]) -> Output:
    """Let a system answer a case, turn by turn where it has `turns`.

    For each turn the system is given the case with `messages`: what was said so far, live replies
    included, and the turn's input. State, tools, scripted results and context stay as they are:
    the history holds what was said and not what a system made of it, so that passages which stood
    with the first turn alone would be forgotten at the second.

    A reply is the output's own trajectory where it gives one, else its text. A tool call without a
    result gets one that says so in the next user message. A turn that was refused, reached the
    step limit or gave nothing is the last: there is no reply to go on from.

    Parameters
    ----------
    case : with `turns`, or without: then it is just answered
    answer : answers a case that has `input` or `messages`

    Returns
    -------
    of a case with turns, `turns` has one output for each that was played

    Raises
    ------
    TypeError
        If the system gave neither an Output nor text.
    """
    if case.turns is None:
        return as_output(await answer(case))
    said: list[dict[str, Any]] = []
    turns: list[Output] = []
    for turn in case.turns:
        said.append({"role": "user", "content": _user_content(turn.input, _pending(said))})
        output = as_output(await answer(_asking(case, said)))
        turns.append(output)
        reply = _reply(output)
        said += reply
        if output.stop_reason in _ENDINGS or not (output.text or _pending(reply)):
            break
    return _whole(turns, said[1:])


def opening(case: Case) -> Case:
    """Return what a case asks first: its first turn where it has turns, else itself."""
    if case.turns is None:
        return case
    return _asking(case, [{"role": "user", "content": case.turns[0].input}])


def _asking(case: Case, said: Iterable[dict[str, Any]]) -> Case:
    # The parts are valid as they are, and a long conversation is copied at each turn.
    messages = [Message.model_construct(**message) for message in said]
    return case.model_copy(update={"messages": messages, "turns": None})


def _user_content(text: str, pending: Sequence[str]) -> str | list[dict[str, Any]]:
    if not pending:
        return text
    results = [
        {
            "type": "tool_result",
            "tool_use_id": call_id,
            "content": "This tool was not run.",
            "is_error": True,
        }
        for call_id in pending
    ]
    return [*results, {"type": "text", "text": text}]


def _reply(output: Output) -> list[dict[str, Any]]:
    messages = list(output.messages)
    if output.text and (not messages or messages[-1].get("role") != "assistant"):
        messages.append({"role": "assistant", "content": output.text})
    return messages


def _pending(messages: Iterable[dict[str, Any]]) -> list[str]:
    """Return the ids of tool calls without a result, in order."""
    pending: dict[str, None] = {}
    for message in messages:
        content = message.get("content")
        for block in content if isinstance(content, list) else ():
            if block.get("type") == "tool_use":
                pending[block["id"]] = None
            elif block.get("type") == "tool_result":
                pending.pop(block["tool_use_id"], None)
    return list(pending)


def _whole(turns: Sequence[Output], trajectory: Sequence[dict[str, Any]]) -> Output:
    last = turns[-1]
    rankings = [turn.retrieved_ids for turn in turns if turn.retrieved_ids is not None]
    return Output(
        last.text,
        [call for turn in turns for call in turn.tool_calls],
        trajectory,
        last.stop_reason,
        rankings[-1] if rankings else None,
        turns,
    )
