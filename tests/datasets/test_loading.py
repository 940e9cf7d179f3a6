"""What the public sets hold, traps and all. Counts are of the sources' own files."""

from __future__ import annotations

import gzip
import hashlib
from importlib.resources import files

import pandas as pd
import pytest

from evalnb.datasets import DATASETS, dataset, load_hanna, load_pandalm, load_triviaqa
from evalnb.errors import InputError
from evalnb.ratings import HUMAN, JUDGE, RATINGS, raters, slice_columns

# SHA-256 of the text inside each file, as it was copied.
COPIED = {
    "hanna.csv": "2f3cee02f5db1ff172a0352674994294f421869e5584097faf4e96c76eaf38a4",
    "triviaqa_judges.csv": "c1085c22943f35190ba105ecd3992ed3aa007f2207a2e8799dc8cbcb2fef633a",
    "pandalm_testset.json": "88a0ba10ec6044bf133055f8a7a5823fa2c77e4c5c142235941fc6ca8d551ff7",
    "pandalm_gpt35.jsonl": "e3a2fba5a7b5f907a7e819be27d463361600703a0acd2674cac3de77805d60bc",
}


@pytest.mark.parametrize("name", COPIED)
def test_a_file_is_what_was_copied(name: str) -> None:
    packed = files("evalnb.datasets").joinpath(f"{name}.gz").read_bytes()
    assert hashlib.sha256(gzip.decompress(packed)).hexdigest() == COPIED[name]


@pytest.mark.parametrize("name", COPIED)
def test_a_file_is_described_with_its_licence(name: str) -> None:
    folder = files("evalnb.datasets")
    (row,) = [
        line for line in folder.joinpath("README.md").read_text().splitlines() if name in line
    ]
    licence = name.partition("_")[0].partition(".")[0]
    assert f"licences/{licence}.txt" in row or "the same" in row
    assert (
        "Permission is hereby granted" in folder.joinpath(f"licences/{licence}.txt").read_text()
        or "Apache License" in folder.joinpath(f"licences/{licence}.txt").read_text()
    )


@pytest.mark.parametrize("name", DATASETS)
def test_a_set_is_a_ratings_frame_on_its_scale(name: str) -> None:
    one = dataset(name)
    ratings = one.load()
    assert list(ratings.columns[: len(RATINGS.columns)]) == list(RATINGS.columns)
    assert {str(dtype) for dtype in ratings.dtypes} == {"string", "Float64"}
    assert (ratings["value"].isna() == ratings["na_reason"].notna()).all()
    given = ratings["value"].dropna()
    assert given.between(one.scale.levels[0], one.scale.levels[-1]).all()
    assert set(ratings["kind"]) == {HUMAN, JUDGE}
    assert one.judge in raters(ratings, JUDGE)
    assert one.unread_as in one.scale.levels


def test_hanna_holds_three_people_and_twenty_judges() -> None:
    ratings = load_hanna()
    assert ratings["item"].nunique() == 1056
    assert raters(ratings, HUMAN) == ["human_1", "human_2", "human_3"]
    assert len(raters(ratings, JUDGE)) == 5 * 4
    assert len(ratings) == 1056 * 3 * (3 + 20)
    assert slice_columns(ratings) == ["system"]
    assert (ratings.groupby("system")["item"].nunique() == 96).all()


def test_unread_answers_of_hanna_are_missing_and_not_small_scores() -> None:
    ratings = load_hanna()
    judges = ratings[ratings["kind"] == JUDGE]
    raw = pd.to_numeric(judges["raw"])
    assert len(judges) == 63360
    assert (raw == 0).sum() == 43
    assert (raw == -1).sum() == 93
    assert (raw < 1).sum() == 511
    reasons = judges["na_reason"].value_counts()
    assert reasons.to_dict() == {"out_of_range": 511 - 43 - 93, "bad_verdict": 43 + 93}
    assert judges.loc[raw < 1, "value"].isna().all()
    assert judges.loc[raw >= 1, "value"].notna().all()
    assert ratings.loc[ratings["kind"] == HUMAN, "value"].notna().all()


def test_five_rows_of_triviaqa_have_no_judge() -> None:
    ratings = load_triviaqa()
    missing = ratings[ratings["na_reason"].notna()]
    assert missing["item"].nunique() == 5
    assert (missing.groupby("item")["rater"].nunique() == 6).all()
    assert set(missing["kind"]) == {JUDGE}
    assert missing["raw"].isna().all()
    assert ratings["cluster"].nunique() == 400


def test_garbage_of_pandalm_is_missing_and_a_tie_is_a_verdict() -> None:
    ratings = load_pandalm()
    judge = ratings[ratings["rater"] == "gpt-3.5-turbo"]
    assert judge["raw"].value_counts().to_dict() == {"2": 476, "1": 460, "Tie": 38, "garbage": 25}
    assert judge["value"].value_counts().to_dict() == {2.0: 476, 1.0: 460, 0.0: 38}
    assert judge.loc[judge["raw"] == "garbage", "na_reason"].eq("bad_verdict").all()
    assert judge.loc[judge["raw"] == "garbage", "reason"].isna().all()
    assert judge["text"].str.contains("\n\nSecond: ").all()


def test_a_set_that_is_not_there_is_said_with_the_nearest() -> None:
    with pytest.raises(InputError, match=r"no public set 'hana' \(did you mean 'hanna'\?\)"):
        dataset("hana")
