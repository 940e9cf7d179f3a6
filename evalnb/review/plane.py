"""Traffic and golden cases on one plane."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from evalnb.curation.candidates.conversations import asked, conversations
from evalnb.curation.candidates.vectors import case_text, tfidf
from evalnb.frames import FrameSchema, to_records

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    import pandas as pd

    from evalnb.cases import Case

__all__ = ["PLANE", "coverage_points"]

PLANE = FrameSchema(
    "coverage plane",
    {"name": "string", "kind": "string", "x": "Float64", "y": "Float64"},
    key=("kind", "name"),
)
"""A row a case (`case`) or conversation (`near` or `far` from every case), with its place."""

_FEWEST = 4


def coverage_points(
    logs: pd.DataFrame, cases: Iterable[Case], far: Collection[str], *, seed: int = 0
) -> pd.DataFrame:
    """Place conversations and cases on a plane, each by its direction in what tells most apart.

    Parameters
    ----------
    logs : a logs frame
    cases : a golden set
    far : ids of conversations far from every case, as `golden_coverage` finds them
    seed : of the decomposition

    Returns
    -------
    as `PLANE` says; no rows for fewer than four conversations. A plane shows little of what TF-IDF
    vectors hold: what is far was found without it.
    """
    from sklearn.decomposition import TruncatedSVD

    known = list(cases)
    said = [row for row in to_records(conversations(logs)) if asked(row)]
    if len(said) < _FEWEST or not known:
        return PLANE.empty()
    vectors, golden = tfidf([asked(row) for row in said], [case_text(case) for case in known])
    model = TruncatedSVD(n_components=3, random_state=seed).fit(vectors)
    names = [(row["conversation_id"], "conversation") for row in said]
    names += [(case.id, "case") for case in known]
    places = np.vstack([model.transform(vectors), model.transform(golden)])
    lengths = np.linalg.norm(places, axis=1, keepdims=True)
    # The first direction is what all have in common: it tells nothing apart.
    points = (places / np.where(lengths > 0, lengths, 1))[:, 1:].tolist()
    return PLANE.build(
        {
            "name": name,
            "kind": kind if kind == "case" else "far" if name in far else "near",
            "x": x,
            "y": y,
        }
        for (name, kind), (x, y) in zip(names, points, strict=True)
    )
