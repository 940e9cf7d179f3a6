"""A study of what sways judges: a suite's, replayed, and public ones."""

from __future__ import annotations

from pathlib import Path

import papermill
import pytest

from evalnb.bias_study import open_bias_study
from evalnb.errors import InputError
from tests.suites import REPOSITORY, copy_of_support

NOTEBOOK = REPOSITORY / "notebooks" / "judge_bias.ipynb"


def test_a_suites_judges_are_replayed_without_a_miss(tmp_path: Path) -> None:
    copy_of_support(tmp_path)
    study = open_bias_study(str(tmp_path / "golden" / "support"), public=False)
    assert not (study.verdicts["na_reason"] == "miss").any()
    assert set(study.effects["scorer"]) == {"politeness", "factual", "relevance", "pairwise"}
    assert study.effects["judge_fingerprint"].notna().all()
    assert any("135M-parameter local model" in note for note in study.notes)
    assert study.countings.empty
    assert study.win_rates.empty


def test_a_judge_this_weak_fails_the_floor_and_the_order(tmp_path: Path) -> None:
    copy_of_support(tmp_path)
    study = open_bias_study(str(tmp_path / "golden" / "support"), public=False)
    mattering = study.effects[study.effects["matters"].fillna(value=False)]
    found = set(zip(mattering["probe"], mattering["scorer"], strict=True))
    assert {("floor", "factual"), ("position", "pairwise")} <= found


def test_one_probe_of_one_judge_can_be_chosen(tmp_path: Path) -> None:
    copy_of_support(tmp_path)
    study = open_bias_study(
        str(tmp_path / "golden" / "support"), public=False, judges=["axes"], probes=["floor"]
    )
    assert set(study.effects["probe"]) == {"floor"}


def test_public_judges_need_no_suite() -> None:
    study = open_bias_study()
    assert study.verdicts.empty
    assert study.details.empty
    assert len(study.effects) == 18
    assert len(study.countings) == 319


def test_what_is_not_recorded_is_said_with_the_command(tmp_path: Path) -> None:
    copy_of_support(tmp_path)
    for path in (tmp_path / "golden" / "support" / "cassettes").glob("0*.json"):
        path.unlink()
    study = open_bias_study(str(tmp_path / "golden" / "support"), public=False)
    assert any("--mode record" in note for note in study.notes)
    assert (study.effects["n_left_out"] > 0).any()


def test_a_suite_that_is_not_there_is_named() -> None:
    with pytest.raises(InputError, match="no golden/supprt"):
        open_bias_study("golden/supprt")


def test_the_notebook_takes_a_suite_without_public_judges(tmp_path: Path) -> None:
    copy_of_support(tmp_path)
    papermill.execute_notebook(
        str(NOTEBOOK),
        str(tmp_path / "out.ipynb"),
        {"public": False, "probes": "floor,position"},
        kernel_name="python3",
        progress_bar=False,
        cwd=str(tmp_path),
        extra_arguments=["--IPKernelApp.log_level=40"],
    )
