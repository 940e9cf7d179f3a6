"""A live run stops once its drop is certain, and comes to what the whole run would have come to."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from anyio import run as run_async
from hypothesis import given, settings
from hypothesis import strategies as st

from evalnb.acceptance import accept_baseline, check_acceptable
from evalnb.cases import Case
from evalnb.control import RunControl
from evalnb.curtailing import Curtailing
from evalnb.errors import InputError
from evalnb.frames import NaReason
from evalnb.golden import GoldenSet, read_golden
from tests.suites import PROMPT, make_suite
from tests.test_confirming import Bot, live
from tests.test_sampled import DAY, accepted, gated, rules, run

if TYPE_CHECKING:
    from pathlib import Path


def suite(n: int) -> GoldenSet:
    return GoldenSet(tuple(Case(id=f"c{k}", input="?", expected_exact="x") for k in range(n)))


def follow(golden: GoldenSet, before: list[list[Any]], now: list[list[Any]]) -> int | None:
    """Answer in order; return after how many answers the run stops, None where it does not."""
    baseline = accepted(run(before), golden)
    found, control = Curtailing(golden, baseline, (), DAY, len(now[0])), RunControl()
    found.begin(None, control, None, 1)  # type: ignore[arg-type]
    answers = [(f"c{case}", passed) for case, repeats in enumerate(now) for passed in repeats]

    async def until_it_stops() -> int | None:
        for n, (case_id, passed) in enumerate(answers, 1):
            await found.follow({"case_id": case_id, "repeat": 1, "text": "x" if passed else "y"})
            if control.stopped() is NaReason.CURTAILED:
                return n
        return None

    return run_async(until_it_stops)


def test_a_run_stops_once_the_rest_could_not_save_it() -> None:
    golden, passing = suite(20), [[True]] * 20
    # The only test, at 0.015 for its certainty: 2^-7 = 0.0078, but eight cases must be there.
    assert follow(golden, passing, [[False]] * 20) == 8
    assert follow(golden, passing, passing) is None
    # Six that failed in the baseline could pass: 14 against 6 has p = 0.058.
    lucky = [[True]] * 14 + [[False]] * 6
    assert follow(golden, lucky, [[False]] * 14 + [[True]] * 6) is None


rates = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=10, max_size=24)


@settings(max_examples=20, deadline=None)
@given(rates)
def test_what_is_stopped_would_have_been_blocked(pairs: list[tuple[int, int]]) -> None:
    golden = suite(len(pairs))
    before, now = (
        [[True] * pair[side] + [False] * (2 - pair[side]) for pair in pairs] for side in (0, 1)
    )
    stopped = follow(golden, before, now)
    if stopped is None:
        return
    assert ("drift", "fail") in rules(gated(golden, before, now))
    # And what the stopped run has is enough to say so.
    left = np.arange(2 * len(pairs)) >= stopped
    cut = [
        [
            "curtailed" if left[2 * case + repeat] else passed
            for repeat, passed in enumerate(repeats)
        ]
        for case, repeats in enumerate(now)
    ]
    partial = gated(golden, before, cut)
    assert ("drift", "fail") in rules(partial)
    assert left.any() == (("curtailed", "note") in rules(partial))


def test_a_suite_that_wants_it_saves_what_is_left(tmp_path: Path) -> None:
    cases = [
        {"id": f"c{n}", "input": f"{n}?", "expected_exact": "yes", "tools": []} for n in range(30)
    ]
    golden = make_suite(tmp_path / "shop", cases, "[live]\nstop_early = true\n")
    live(golden, tmp_path / "results" / "first", Bot())
    accept_baseline(
        golden, tmp_path / "results" / "first", reason="the first",
        now=datetime(2026, 6, 1, tzinfo=UTC), environment={},
    )  # fmt: skip
    path = tmp_path / "shop" / "systems" / "v1.toml"
    path.write_text(PROMPT.replace("in one sentence", "in two sentences"))
    (tmp_path / "shop" / "baseline" / "system.toml").unlink()
    golden, bot = read_golden(tmp_path / "shop"), Bot()
    found = live(golden, tmp_path / "results" / "second", bot)
    assert found.exit_code == 1
    assert 8 <= bot.asked["candidate"] <= 10
    (note,) = found.decision.loc[found.decision["rule"] == "curtailed", "reason"]
    assert note.startswith("the run stopped early: 2")
    assert found.manifest["can_go_on"] is False
    with pytest.raises(InputError, match="the run stopped early and lacks answers"):
        check_acceptable(golden, found, environment={})
