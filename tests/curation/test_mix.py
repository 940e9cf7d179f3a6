from __future__ import annotations

import pandas as pd
import pytest

from evalnb.cases import Case
from evalnb.curation.candidates.languages import spoken_languages
from evalnb.curation.candidates.strata import sample_stratified
from evalnb.curation.mix import describe_mix, traffic_mix
from evalnb.curation.text_distance import text_distance
from evalnb.frames import LOGS

EN = "The order is on the way to you and it will be there soon."
DE = "Die Bestellung ist auf dem Weg und wird bald bei Ihnen sein."


def logs_of(*said: tuple[str, str | None, str | None]) -> pd.DataFrame:
    return LOGS.build(
        {"conversation_id": f"c{k:03}", "turn": 1, "role": "user", "text": text, "language": language, "category": category}
        for k, (text, language, category) in enumerate(said)
    )  # fmt: skip


def test_languages_are_those_of_the_log_else_of_the_texts() -> None:
    logs = logs_of((EN, "de-AT", None), (DE, None, None), ("B-1", None, None), ("注文", " ", None))
    found = spoken_languages(logs)
    assert found["language"].tolist() == ["de", "de", pd.NA, "zh"]
    assert found["source"].tolist() == ["log", "text", pd.NA, "text"]
    picks = sample_stratified(logs, by="language", n=1)
    assert picks["stratum"].tolist() == ["de", "unknown", "zh"]
    assert spoken_languages(LOGS.empty()).empty


def test_the_mix_of_languages_says_which_are_missing() -> None:
    cases = [Case(id=f"c{k}", input=EN, language="en-GB" if k % 2 else None) for k in range(20)]
    logs = logs_of(*[(DE, None, None)] * 15, *[(EN, None, None)] * 15, ("B-1", None, None))
    found = traffic_mix(logs, cases, by="language")
    lines = describe_mix(found)
    assert lines[0].startswith("language: divergence 0.")
    assert lines[0].endswith("p < 0.001, n = 50, 1 without any")
    # By hand: 15 of 30 against none of 20.
    assert [line.split(": ")[1] for line in lines[1:]] == [
        "0.50 of traffic, 0.00 of the golden set",
        "0.50 of traffic, 1.00 of the golden set",
    ]


def test_categories_and_what_cannot_be_compared() -> None:
    cases = [Case(id="c", input=EN, category="late")]
    assert describe_mix(traffic_mix(logs_of((EN, None, None)), cases, by="category")) == [
        "category: nothing to compare (too_few)"
    ]
    same = traffic_mix(logs_of((EN, None, "late")), cases, by="category")
    assert same.drift["reason"].unique().tolist() == ["one_category"]
    with pytest.raises(ValueError, match="`by` must be category or language"):
        traffic_mix(logs_of(), cases, by="tags")  # type: ignore[arg-type]


def test_the_distance_of_texts() -> None:
    parcels = [f"Where is parcel {k} that I sent to my aunt?" for k in range(15)]
    visas = [f"Which visa number {k} does my uncle need for Norway?" for k in range(15)]
    apart = text_distance(parcels, visas).iloc[0]
    alike = text_distance(parcels, parcels).iloc[0]
    assert apart["p_value"] == 0.001
    assert alike["p_value"] > 0.5
    assert alike["estimate"] < 0 < apart["estimate"]
    assert text_distance(parcels, ["one"]).loc[0, "reason"] == "too_few"
    with pytest.raises(ValueError, match="5,001 texts are too many"):
        text_distance(["a"], ["b"] * 5000)
