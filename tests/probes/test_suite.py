"""Probing a suite: what is missing, and live probings that stop; the judges are scripted."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import httpx2
import pytest

from evalnb.errors import InputError
from evalnb.golden import GoldenSet, read_golden
from evalnb.probes import Probing, probe_suite
from tests.probes.judges import ScriptedJudge
from tests.suites import copy_of_support
from tests.upstreams import error

if TYPE_CHECKING:
    from pathlib import Path

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)
N_ASKED = 50
"""Ten cases: five verdicts on answers each."""


@pytest.fixture(scope="module")
def golden(tmp_path_factory: pytest.TempPathFactory) -> GoldenSet:
    folder = copy_of_support(tmp_path_factory.mktemp("probing"))
    axes = folder / "judges" / "axes.toml"
    axes.write_text(axes.read_text().replace("smollm2-135m-instruct", "claude-haiku-5-5"))
    return read_golden(folder)


class Stops(ScriptedJudge):
    """Answers so many requests, and then accepts the key no more."""

    def __init__(self, after: int) -> None:
        super().__init__(lambda _: 3)
        self.after = after

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        if len(self.requests) >= self.after:
            return error(401, "authentication_error")
        return super().handle_request(request)


def probe(golden: GoldenSet, root: Path, upstream: Any, **options: Any) -> Probing:
    return probe_suite(
        golden,
        **{"now": NOW, "probes": ["floor"], "mode": "live", "upstream": upstream, **options},
        root=root,
        judges=["axes"],
    )


def test_a_live_probing_that_stopped_is_taken_up(golden: GoldenSet, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="does not accept the key"):
        probe(golden, tmp_path, Stops(20))
    other, late = ScriptedJudge(lambda _: 3), ScriptedJudge(lambda _: 3)
    probe(golden, tmp_path, other, probes=["repetition"])
    assert len(other.requests) == 20  # another probe: all anew
    probe(golden, tmp_path, late, now=NOW + timedelta(hours=25))
    assert len(late.requests) == N_ASKED  # after a day the model may have changed
    rest = ScriptedJudge(lambda _: 3)
    whole = probe(golden, tmp_path, rest, now=NOW + timedelta(hours=1))
    assert (len(rest.requests), len(whole.asked)) == (N_ASKED - 20, N_ASKED)
    assert whole.missing == {}
    again = ScriptedJudge(lambda _: 3)
    probe(golden, tmp_path, again, now=NOW + timedelta(hours=2))
    assert len(again.requests) == N_ASKED


def test_what_ran_out_of_time_or_money_goes_on(golden: GoldenSet, tmp_path: Path) -> None:
    usage = {"input_tokens": 0, "output_tokens": 1000}
    first = ScriptedJudge(lambda _: 3, usage=usage)
    short = probe(golden, tmp_path, first, budget_usd=0.01)
    n_first = len(first.requests)
    assert 0 < n_first <= 20
    assert short.missing == {"budget": N_ASKED - n_first}
    assert short.n_unfinished == N_ASKED - n_first
    rest = ScriptedJudge(lambda _: 3, usage=usage)
    assert probe(golden, tmp_path, rest).n_unfinished == 0
    assert len(rest.requests) == N_ASKED - n_first


def test_a_judge_that_says_nothing_usable_is_named(golden: GoldenSet, tmp_path: Path) -> None:
    hostile = ScriptedJudge(lambda _: "<img src=x onerror=alert(1)>")
    found = probe(golden, tmp_path, hostile)
    assert found.silent == ("axes",)
    assert sum(found.missing.values()) == N_ASKED
    assert found.n_unfinished == 0
    fine = ScriptedJudge(lambda _: 3)
    assert probe(golden, tmp_path, fine).silent == ()
