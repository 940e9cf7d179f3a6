"""What a test needs beyond Python, and what to do where it is not there."""

from __future__ import annotations

import os

import pytest


def require(condition: object, reason: str) -> None:
    """Skip the test unless `condition` holds; fail where everything must be there.

    `EVALNB_REQUIRE_ALL=1`, set where the whole set must run, turns skips into failures.
    """
    if condition:
        return
    if os.environ.get("EVALNB_REQUIRE_ALL") == "1":
        pytest.fail(f"EVALNB_REQUIRE_ALL is set, but {reason}")
    pytest.skip(reason)
