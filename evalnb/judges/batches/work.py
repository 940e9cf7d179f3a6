"""Work on behalf of many requests, at whose end none of them is left waiting."""

from __future__ import annotations

import asyncio
from contextvars import Context
from typing import TYPE_CHECKING, Any

from evalnb.errors import InputError
from evalnb.judges.batches.calls import Unanswered
from evalnb.patience import RunStopped

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterable

    from evalnb.control import RunControl
    from evalnb.judges.batches.desk import Desk
    from evalnb.judges.batches.entries import Waiting
    from evalnb.judges.batches.replies import Outcome

__all__ = ["start_work"]


def start_work(
    work: Coroutine[Any, Any, None],
    left: Callable[[], Iterable[Waiting]],
    *,
    desk: Desk,
    control: RunControl,
) -> asyncio.Task[None]:
    """Begin work that requests wait for.

    Parameters
    ----------
    work : not on behalf of the case whose request was the first, but of many
    left : the requests that still wait for it when it ends; they are told what became of it
    desk, control : whose requests they are, and what is stopped by a fault
    """
    guarded = _guarded(work, left, desk, control)
    return asyncio.get_running_loop().create_task(guarded, context=Context())


async def _guarded(
    work: Coroutine[Any, Any, None],
    left: Callable[[], Iterable[Waiting]],
    desk: Desk,
    control: RunControl,
) -> None:
    outcome: Outcome = None
    try:
        await work
    except RunStopped:
        pass
    except InputError as fault:
        control.stop(fault)
    except Unanswered as failure:
        outcome = failure.reply
    except Exception as error:  # noqa: BLE001 - is raised where it is waited for
        outcome = error
    finally:
        for waiting in left():
            desk.end(waiting, outcome)
