"""Cases that stand in dev and in the holdout, which says nothing any more then."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evalnb.curation.candidates.duplicates import THRESHOLD, duplicate_pairs
from evalnb.curation.candidates.vectors import case_text
from evalnb.frames import FrameSchema
from evalnb.holdout import HOLDOUT
from evalnb.matching import normalize

if TYPE_CHECKING:
    import pandas as pd

    from evalnb.cases import Case
    from evalnb.golden import GoldenSet

__all__ = ["LEAKS", "split_leaks", "whole_text"]

LEAKS = FrameSchema(
    "leaks",
    {"case_id": "string", "other_id": "string", "similarity": "Float64", "exact": "boolean"},
    key=("case_id", "other_id"),
)
"""A row a pair of cases of which `case_id` is in the holdout and `other_id` is not: `similarity` is
the share of n-grams that they have in common, `exact` whether they say the same, case, spacing and
form of letters apart."""


def split_leaks(golden: GoldenSet) -> pd.DataFrame:
    """Find holdout cases that other cases repeat.

    Compared is what is asked, with the passages that it is asked about; see `duplicate_pairs`.

    Parameters
    ----------
    golden : the cases; one without a split counts as dev

    Returns
    -------
    a frame as `LEAKS` says, equal pairs first, then the nearest
    """
    cases = list(golden)
    if len({case.split == HOLDOUT for case in cases}) < 2:
        return LEAKS.empty()
    texts = [whole_text(case) for case in cases]
    rows: list[dict[str, Any]] = []
    for first, second, similarity in duplicate_pairs(texts, THRESHOLD):
        one, other = cases[first], cases[second]
        if (one.split == HOLDOUT) == (other.split == HOLDOUT):
            continue
        held, free = (one, other) if one.split == HOLDOUT else (other, one)
        rows.append(
            {
                "case_id": held.id,
                "other_id": free.id,
                "similarity": similarity,
                "exact": _bare(texts[first]) == _bare(texts[second]),
            }
        )
    rows.sort(key=lambda row: (not row["exact"], -row["similarity"], row["case_id"]))
    return LEAKS.build(rows)


def whole_text(case: Case) -> str:
    """Return what makes a case: what is asked, and what it is asked about."""
    passages = [str(getattr(passage, "text", passage)) for passage in case.context or ()]
    return "\n".join([case_text(case), *passages])


def _bare(text: str) -> str:
    return " ".join(normalize(text).split())
