"""TriviaQA: short answers, called right or wrong by people, by language models and by rules."""

from __future__ import annotations

import pandas as pd

from evalnb.datasets.files import packed_text
from evalnb.frames import NaReason
from evalnb.ratings import HUMAN, JUDGE, AxisScale, ratings_frame

__all__ = ["SCALE", "load_triviaqa"]

SCALE = AxisScale((0, 1), names={0: "wrong", 1: "right"})

_KEYS = ["row", "model", "question"]
_PEOPLE = "HumanJudgement"


def load_triviaqa() -> pd.DataFrame:
    """Return what people and six judges said of the answers of nine models to 400 questions.

    Returns
    -------
    a ratings frame, with the slice `system` : the model that answered
        The only axis is `correct`, 0 for wrong and 1 for right. Four judges are language models;
        `EM` and `Contains` are rules that compare with known answers. `text` is the question, which
        is the `cluster` as well: answers to one question are not independent. The answers
        themselves are not in the data. In five rows no judge said anything: NA, `bad_verdict`.

    References
    ----------
    Thakur, Choudhary, Ramayapally, Vaidyanathan & Hupkes (2024), Judging the Judges,
    arXiv:2406.12624.

    Examples
    --------
    >>> ratings = load_triviaqa()
    >>> len(ratings), int(ratings["na_reason"].notna().sum())
    (25200, 30)
    """
    wide = pd.read_csv(
        packed_text("triviaqa_judges.csv"), dtype="string", keep_default_na=False, na_values={}
    )
    long = wide.melt(id_vars=_KEYS, var_name="rater", value_name="raw")
    said = long["raw"].map({"False": 0.0, "True": 1.0}).astype("Float64")
    unread = pd.Series(pd.NA, index=long.index, dtype="string")
    names = {"row": "item", "model": "system", "question": "text"}
    frame = long.rename(columns=names).assign(
        axis="correct",
        kind=(long["rater"] == _PEOPLE).map({True: HUMAN, False: JUDGE}),
        value=said,
        raw=long["raw"].mask(long["raw"] == ""),
        na_reason=unread.mask(said.isna(), str(NaReason.BAD_VERDICT)),
        cluster=long["question"],
    )
    frame = frame.assign(rater=frame["rater"].replace({_PEOPLE: "people"}))
    return ratings_frame(frame, slices=["system"])
