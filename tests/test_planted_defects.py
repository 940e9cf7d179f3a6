"""Each planted defect is blocked for its own reason, and nothing is where nothing was planted."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from typer.testing import CliRunner

from evalnb.cli import app
from evalnb.errors import InputError
from tests.benchmarks.planted_defects import PLANTED, Planting, one_language, plant
from tests.suites import make_suite

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("planting", PLANTED, ids=lambda planting: planting.__name__)
def test_a_planted_defect_is_blocked_for_its_own_reason(planting: Planting, tmp_path: Path) -> None:
    found = plant(planting, tmp_path, seed=0)
    wanted = PLANTED[planting]
    if wanted is None:
        assert (found.exit_code, found.rules) == (0, frozenset())
        return
    assert found.exit_code == 1
    # One lost case of 32 is more than the margin of a recording, too.
    assert found.rules - {"drift"} == {wanted} - {"drift"}
    if planting is one_language:
        assert "language=de" in found.reason


def test_an_override_without_a_reason_stops_before_anything_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = {"id": "a", "input": "Hello?", "expected_exact": "Hello."}
    make_suite(tmp_path / "golden" / "shop", [case])
    monkeypatch.setenv("SKIP_EVAL", "true")
    monkeypatch.delenv("SKIP_EVAL_REASON", raising=False)
    done = CliRunner().invoke(app, ["run", str(tmp_path / "golden" / "shop")])
    assert isinstance(done.exception, InputError)
    assert done.exception.exit_code == 2
    assert "an override needs a reason" in str(done.exception)
    assert not (tmp_path / "results").exists()
