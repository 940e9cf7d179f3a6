"""A guest in the kernel: every cell that waits behind ours still runs, and a stop is a stop."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

import pytest

from tests.kernels import kernel, run_queued
from tests.requirements import require
from tests.suites import copy_of_support

if TYPE_CHECKING:
    from pathlib import Path

RUN = """
import asyncio
import evalnb

golden = evalnb.read_golden("golden/support").slice(0, 5)
outputs = evalnb.run(golden, evalnb.load_system(golden), progress="none")
print("ran", len(outputs), outputs["text"].notna().sum() > 0)
"""

SLOW = """
import asyncio, evalnb

async def answer(case, client):
    try:
        print("started", flush=True)
        await asyncio.sleep(60)
    finally:
        print("cleaned up", flush=True)

golden = evalnb.read_golden("golden/support").slice(0, 1)
evalnb.run(golden, evalnb.CallableSystem(answer), progress="none")
"""


@pytest.mark.parametrize("major", [6, 7])
def test_cells_queued_behind_a_run_all_run(major: int, tmp_path: Path) -> None:
    packages = os.environ.get("EVALNB_IPYKERNEL6") if major == 6 else None
    require(
        major == 7 or packages,
        "ipykernel 6 is not there: set EVALNB_IPYKERNEL6 to a folder that holds it",
    )
    copy_of_support(tmp_path)
    cells = [RUN, RUN, "import ipykernel; print('third', ipykernel.__version__)"]

    with kernel(tmp_path, packages=packages) as client:
        written = run_queued(client, cells)

    assert written[:2] == ["ran 5 True\n", "ran 5 True\n"]
    assert written[2].startswith(f"third {major}.")


def test_a_run_leaves_the_notebooks_own_loop_usable(tmp_path: Path) -> None:
    copy_of_support(tmp_path)
    check = "await asyncio.sleep(0); print(type(asyncio.get_running_loop()).__module__)"
    with kernel(tmp_path) as client:
        before, _, after = run_queued(client, [f"import asyncio; {check}", RUN, check])
    assert before == after
    assert not before.startswith("evalnb")


def test_an_interrupt_stops_a_run_and_the_next_cell_runs(tmp_path: Path) -> None:
    copy_of_support(tmp_path)
    with kernel(tmp_path) as client:
        client.execute(SLOW, stop_on_error=False)
        written, stopped_at, error = "", 0.0, ""
        deadline = time.monotonic() + 60
        while not error and time.monotonic() < deadline:
            reply = client.get_iopub_msg(timeout=60)
            if reply["msg_type"] == "stream":
                written += reply["content"]["text"]
                if "started" in written and not stopped_at:
                    stopped_at = time.monotonic()
                    client.parent.interrupt_kernel()
            if reply["msg_type"] == "error":
                error = reply["content"]["ename"]
        waited = time.monotonic() - stopped_at
        after = run_queued(client, ["print('next cell')"])
    assert error == "KeyboardInterrupt"
    assert waited < 30  # far below the 60 s that the answer would have taken
    assert "cleaned up" in written
    assert after == ["next cell\n"]
