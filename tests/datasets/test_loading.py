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
    "llmbar_verdicts.csv": "c5bdcb42098085f95a75873be99842b727412e09406dbd5523ddb8c71b3f291f",
    "llmbar_published.csv": "df74de57f4ef3f9005a9240fbe3343a71a2b11dd4f3582b69920c9d9d8f10cbe",
    "position_devbench_claude-3-haiku-20240307.csv": (
        "3c17e1f5c1334d54aa3b08f6ba277fbe21769f6825365f171011584918e4fba0"
    ),
    "position_devbench_gpt-3.5-turbo-0125.csv": (
        "4d43400cf841d39a999c0380ce2701e3f9c61465d1aff2fba43bd80c71cc898e"
    ),
    "position_mtbench_gpt-4-0613.csv": (
        "b32abf86dab25a8ec38a2d8d2993895236d68f2581b2958cf9b49daeba4cd909"
    ),
    "repeat_devbench_claude-3-haiku-20240307.csv": (
        "6a7d3b01d46b34c7b54dd6f72a37a26d797c312a30df8f1dca909fe7a6eea164"
    ),
    "repeat_devbench_claude-3-opus-20240229.csv": (
        "50c2cd0ed080f87fc037045440d611fbe01436a617399acb603e3a553a9819fe"
    ),
    "repeat_devbench_gpt-3.5-turbo-0125.csv": (
        "599571d38f87567066df4822e1e70aab0dd1c89c536a8f9023c35429e5c35a84"
    ),
    "repeat_devbench_gpt-4-0613.csv": (
        "861129e582caf6bbf457719d3014dd601a4e98fa06fff6717cf67bc17deb7b2c"
    ),
    "repeat_mtbench_claude-3-haiku-20240307.csv": (
        "88466dc58c50dba2272ab1249e0770f2f0409755da49a3f1dd384155d5594e71"
    ),
    "repeat_mtbench_claude-3-opus-20240229.csv": (
        "35610d71ee460ccec4db3cc5cd659c634ee9628e203c371e9bb1ee9b2930cc8f"
    ),
    "repeat_mtbench_gpt-3.5-turbo-0125.csv": (
        "5a7900f0488b8372b6d821fa8da0d09015f26b3edff3b7887701ed3443791088"
    ),
    "repeat_mtbench_gpt-4-0613.csv": (
        "2eaac2150ecc02d2744446ab064f7565b8d857884a023edc95ee39196c89bb76"
    ),
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
    licence = name.partition("_")[0].partition(".")[0].replace("repeat", "position")
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
