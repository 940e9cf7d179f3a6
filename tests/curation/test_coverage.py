from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from evalnb.cases import Case
from evalnb.curation.coverage import describe_coverage, golden_coverage, text_drift
from evalnb.frames import LOGS

WORDS = {
    "refund": [
        "money",
        "back",
        "refund",
        "credit",
        "card",
        "order",
        "wrong",
        "item",
        "return",
        "please",
    ],
    "parcel": [
        "parcel",
        "courier",
        "late",
        "delivery",
        "street",
        "door",
        "tracking",
        "waiting",
        "yesterday",
        "depot",
    ],
    "visa": [
        "tourist",
        "visa",
        "passport",
        "country",
        "embassy",
        "travel",
        "border",
        "stamp",
        "consulate",
        "entry",
    ],
}


def texts(kind: str, count: int, seed: int = 0) -> list[str]:
    """Return texts of eight words each, of those of one kind."""
    draw = np.random.default_rng(seed)
    return [" ".join(draw.permutation(WORDS[kind])[:8]) for _ in range(count)]


def logs_of(**counts: int) -> pd.DataFrame:
    return LOGS.build(
        {"conversation_id": f"{kind}-{k:03}", "turn": 1, "role": "user", "text": text}
        for kind, count in counts.items()
        for k, text in enumerate(texts(kind, count))
    )


def cases_of(*kinds: str) -> list[Case]:
    return [
        Case(id=f"{kind}-{k}", input=text, must_contain=["x"])
        for kind in kinds
        for k, text in enumerate(texts(kind, 8, seed=1))
    ]


def test_the_kind_that_no_case_is_near_to_is_named() -> None:
    found = golden_coverage(logs_of(refund=20, parcel=15, visa=10), cases_of("refund", "parcel"))
    rows = found.metrics.set_index("metric")
    is_visa = found.far["conversation_id"].str.startswith("visa")
    assert is_visa.sum() == 10
    assert (~is_visa).sum() <= 35 / 2
    assert rows.loc["share_far", "estimate"] == pytest.approx(len(found.far) / 45)
    assert found.far.loc[is_visa, "similarity"].max() < found.far.loc[~is_visa, "similarity"].min()
    assert found.missing["n"].sum() == len(found.far)
    said = "\n".join(describe_coverage(found))
    assert "are far from every golden case" in said
    assert any(word in said for word in WORDS["visa"])


def test_a_whole_golden_set_and_none() -> None:
    logs = logs_of(refund=20, parcel=15)
    whole = golden_coverage(logs, cases_of("refund", "parcel", "visa"))
    assert whole.metrics["estimate"].iloc[0] <= 0.35
    assert set(whole.unasked["case_id"]) >= {f"visa-{k}" for k in range(8)}
    assert len(whole.unasked) <= 8 + 16 / 2
    none = golden_coverage(logs, [])
    assert none.metrics["estimate"].iloc[0] == 1.0
    assert none.far["nearest_case"].isna().all()


def test_too_few_conversations() -> None:
    found = golden_coverage(logs_of(refund=1), cases_of("refund"))
    assert found.metrics["reason"].tolist() == ["too_few"] * 4
    assert found.missing.empty
    assert describe_coverage(found) == ["too few conversations to say what the golden set lacks"]


def test_a_classifier_tells_what_differs_and_only_that() -> None:
    golden, other = texts("refund", 20), texts("visa", 25)
    found = text_drift(golden, other).iloc[0]
    assert found["estimate"] == 1.0
    assert found["p_value"] == 1 / 200
    assert set(found["terms_traffic"]) <= set(WORDS["visa"])
    assert set(found["terms_golden"]) <= set(WORDS["refund"])
    same = text_drift(golden, texts("refund", 25, seed=1)).iloc[0]
    assert same["p_value"] > 0.01
    few = text_drift(golden[:9], other)
    assert few["reason"].tolist() == ["too_few"]
