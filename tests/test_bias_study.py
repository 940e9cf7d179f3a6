"""A study of what sways judges: a suite's, replayed, and public ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import papermill
import pytest

from evalnb.bias_study import BiasStudy, open_bias_study
from evalnb.errors import InputError
from tests.suites import REPOSITORY, copy_of_support

NOTEBOOK = REPOSITORY / "notebooks" / "judge_bias.ipynb"


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copy_of_support(tmp_path_factory.mktemp("studied"))


@pytest.fixture(scope="module")
def study(suite: Path) -> BiasStudy:
    return open_bias_study(str(suite), public=False)


def test_a_suites_judges_are_replayed_without_a_miss(study: BiasStudy) -> None:
    assert not (study.verdicts["na_reason"] == "miss").any()
    assert set(study.effects["scorer"]) == {"politeness", "factual", "relevance", "pairwise"}
    assert study.effects["judge_fingerprint"].notna().all()
    assert any("1 missing (truncated 1)" in note for note in study.notes)
    assert any("135M-parameter local model" in note for note in study.notes)
    assert study.countings.empty
    assert study.win_rates.empty
    assert study.limits == ()


def test_a_judge_this_weak_fails_the_floor_and_the_order(study: BiasStudy) -> None:
    mattering = study.effects[study.effects["matters"].fillna(value=False)]
    found = set(zip(mattering["probe"], mattering["scorer"], strict=True))
    assert {("floor", "factual"), ("position", "pairwise")} <= found


def test_one_probe_of_one_judge_can_be_chosen(suite: Path) -> None:
    study = open_bias_study(str(suite), public=False, judges="axes", probes=["floor"])
    assert set(study.effects["probe"]) == {"floor"}


@pytest.mark.parametrize(
    ("options", "kind", "message"),
    [
        ({"suite": None}, TypeError, r"`suite` must be text such as 'golden/support'"),
        ({"public": "no"}, TypeError, r"`public` must be True or False\. Got 'no'"),
        ({"judges": 3}, TypeError, r"`judges` must be names with commas between them\. Got 3"),
        ({"suite": "x", "probes": [1]}, TypeError, "`probes` must be names with commas"),
        ({"mode": "replayed"}, ValueError, "`mode` must be one of replay, record, live"),
    ],
)
def test_an_option_of_another_type_is_said(
    options: dict[str, Any], kind: type[Exception], message: str
) -> None:
    with pytest.raises(kind, match=message):
        open_bias_study(**{"suite": "no/suite", **options})


def test_public_judges_need_no_suite() -> None:
    study = open_bias_study()
    assert study.verdicts.empty
    assert study.details.empty
    assert len(study.effects) == 18
    assert len(study.countings) == 319


def test_what_is_not_recorded_is_said_with_the_command(tmp_path: Path) -> None:
    folder = copy_of_support(tmp_path)
    for path in (folder / "cassettes").glob("0*.json"):
        path.unlink()
    study = open_bias_study(str(folder), public=False, probes="repetition,formatting")
    assert any("--mode record" in note for note in study.notes)
    assert (study.effects["n_left_out"] > 0).any()


def test_a_suite_that_is_not_there_is_named() -> None:
    with pytest.raises(InputError, match="no golden/supprt"):
        open_bias_study("golden/supprt")


def test_the_notebook_takes_a_suite_without_public_judges(suite: Path, tmp_path: Path) -> None:
    papermill.execute_notebook(
        str(NOTEBOOK),
        str(tmp_path / "out.ipynb"),
        {"suite": str(suite), "public": False, "probes": "floor,position"},
        kernel_name="python3",
        progress_bar=False,
        cwd=str(tmp_path),
        extra_arguments=["--IPKernelApp.log_level=40"],
    )
