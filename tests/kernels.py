"""A live kernel for tests, driven as a notebook's front end does it."""

from __future__ import annotations

import os
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from jupyter_client.manager import KernelManager

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["kernel", "run_queued"]

_SECONDS = 120.0


@contextmanager
def kernel(folder: Path, *, packages: str | None = None) -> Iterator[Any]:
    """Start a kernel in a folder, with packages that come before the installed ones."""
    environment = dict(os.environ)
    if packages:
        environment["PYTHONPATH"] = packages
    manager = KernelManager(kernel_name="python3")
    manager.start_kernel(
        cwd=str(folder), env=environment, extra_arguments=["--IPKernelApp.log_level=40"]
    )
    client = manager.client()
    client.start_channels()
    try:
        client.wait_for_ready(timeout=_SECONDS)
        yield client
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)


def run_queued(client: Any, cells: list[str]) -> list[str]:
    """Send all cells before the first has run; return what each wrote, errors included."""
    ids = [client.execute(cell, stop_on_error=False) for cell in cells]
    written = dict.fromkeys(ids, "")
    idle: set[str] = set()
    deadline = time.monotonic() + _SECONDS
    while len(idle) < len(ids):
        reply = client.get_iopub_msg(timeout=max(0.0, deadline - time.monotonic()))
        parent, content = reply["parent_header"].get("msg_id"), reply["content"]
        if parent not in written:
            continue
        match reply["msg_type"]:
            case "stream":
                written[parent] += content["text"]
            case "error":
                written[parent] += f"{content['ename']}: {content['evalue']}"
            case "status" if content["execution_state"] == "idle":
                idle.add(parent)
    return [written[cell_id] for cell_id in ids]
