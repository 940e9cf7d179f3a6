"""PandaLM: pairs of answers, compared by three people and by gpt-3.5-turbo."""

from __future__ import annotations

import json

import pandas as pd

from evalnb.datasets.files import packed_text
from evalnb.frames import NaReason
from evalnb.ratings import HUMAN, JUDGE, AxisScale, ratings_frame

__all__ = ["SCALE", "load_pandalm"]

SCALE = AxisScale((0, 1, 2), ordered=False, names={0: "tie", 1: "first", 2: "second"})

_JUDGE = "gpt-3.5-turbo"
_VERDICTS = {"1": 1.0, "2": 2.0, "Tie": 0.0}
_PEOPLE = ["annotator1", "annotator2", "annotator3"]


def load_pandalm() -> pd.DataFrame:
    """Return which of two answers three people and one judge found better, for 999 pairs.

    Returns
    -------
    a ratings frame, with the slices `pair` : the two models, and `source` : what the task is of
        The only axis is `better`: 1 the first answer, 2 the second, 0 neither. The judge is
        `gpt-3.5-turbo` and gives its reasons. 38 of its verdicts are "Tie", which is a 0 like a
        person's; 25 are "garbage", which is no verdict: NA, `bad_verdict`. `cluster` is the task,
        which several pairs share.

    References
    ----------
    Wang, Yu et al. (2023), PandaLM, arXiv:2306.05087.

    Examples
    --------
    >>> ratings = load_pandalm()
    >>> len(ratings), int(ratings["na_reason"].notna().sum())
    (3996, 25)
    """
    tasks = pd.DataFrame(json.load(packed_text("pandalm_testset.json")))
    verdicts = pd.DataFrame(map(json.loads, packed_text("pandalm_gpt35.jsonl")))
    items = pd.DataFrame(
        {
            "idx": tasks["idx"],
            "item": tasks["idx"].astype("string"),
            "axis": "better",
            "cluster": tasks["instruction"] + "\n\n" + tasks["input"],
            "text": _texts(tasks),
            "pair": tasks["cmp_key"].astype("string"),
            "source": tasks["motivation_app"].astype("string"),
        }
    )
    said = tasks.melt("idx", _PEOPLE, var_name="rater", value_name="value").assign(kind=HUMAN)
    judged = verdicts.rename(columns={"verdict_raw": "raw"}).assign(
        rater=_JUDGE,
        kind=JUDGE,
        value=verdicts["verdict_raw"].map(_VERDICTS),
        reason=verdicts["reason"].mask(verdicts["reason"] == ""),
        na_reason=verdicts["verdict_raw"].map({"garbage": str(NaReason.BAD_VERDICT)}),
    )
    both = pd.concat([said.assign(raw=said["value"].astype("string")), judged], ignore_index=True)
    frame = both.merge(items, on="idx", how="left", validate="many_to_one")
    return ratings_frame(frame, slices=["pair", "source"])


def _texts(tasks: pd.DataFrame) -> pd.Series:
    return (
        tasks["instruction"].str.strip()
        + "\n\n"
        + tasks["input"].str.strip()
        + "\n\nFirst: "
        + tasks["response1"].str.strip()
        + "\n\nSecond: "
        + tasks["response2"].str.strip()
    )
