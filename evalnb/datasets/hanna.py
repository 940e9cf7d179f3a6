"""HANNA: stories, rated by three people and by five language models."""

from __future__ import annotations

import pandas as pd

from evalnb.datasets.files import packed_text
from evalnb.frames import NaReason
from evalnb.ratings import HUMAN, JUDGE, AxisScale, ratings_frame

__all__ = ["SCALE", "load_hanna"]

SCALE = AxisScale((1, 2, 3, 4, 5))

_KEYS = ["story_id", "system", "criterion"]
_UNREAD = (0.0, -1.0)


def load_hanna() -> pd.DataFrame:
    """Return what three people and twenty judges said of 1,056 stories.

    Returns
    -------
    a ratings frame, with the slice `system` : who wrote the story
        Axes are relevance, coherence and engagement, from 1 to 5. `human_1` to `human_3` are the
        places of a story's three ratings and no persons: who rated differs from story to story. A
        judge is a model with one of four prompts, such as `ChatGPT_p1`; its value is the mean of
        three samples, as `raw` has it. Nobody can say less than 1, yet 511 means lie below: an
        answer without a number stands in its mean as -1 or 0. These are NA, `bad_verdict` where
        the mean itself is -1 or 0, else `out_of_range`. Where the other samples were high enough
        to lift the mean to 1 or more, such an answer cannot be seen.

    References
    ----------
    Chhun, Colombo, Suchanek & Clavel (2022), Of Human Criteria and Automatic Metrics, COLING.

    Examples
    --------
    >>> ratings = load_hanna()
    >>> len(ratings), int(ratings["na_reason"].notna().sum())
    (72864, 511)
    """
    wide = pd.read_csv(packed_text("hanna.csv"), dtype="string")
    long = wide.melt(id_vars=_KEYS, var_name="rater", value_name="raw")
    given = pd.to_numeric(long["raw"]).astype("Float64")
    below = given < SCALE.levels[0]
    reasons = pd.Series(pd.NA, index=long.index, dtype="string")
    reasons = reasons.mask(below, str(NaReason.OUT_OF_RANGE))
    reasons = reasons.mask(given.isin(_UNREAD), str(NaReason.BAD_VERDICT))
    people = long["rater"].str.startswith("human_")
    frame = long.rename(columns={"story_id": "item", "criterion": "axis"}).assign(
        kind=people.map({True: HUMAN, False: JUDGE}),
        value=given.mask(below),
        na_reason=reasons,
    )
    return ratings_frame(frame, slices=["system"])
