"""Which cases to label next, so that a corrected rate or mean becomes precise with few labels.

Cases are drawn at random within strata, with known probabilities: estimates that weigh the strata
stay unbiased. Cases of interest in themselves, such as those a judge is unsure of, may be labelled
beside them, but do not belong in the estimate.
"""

from __future__ import annotations

import hashlib
import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from evalnb.frames import FrameSchema
from evalnb.stats.allocation import neyman_allocation
from evalnb.stats.values import check_count, numbers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evalnb.stats.values import Floats

__all__ = ["AUDIT", "audit_strata", "suggest_audit"]

AUDIT = FrameSchema(
    "audit",
    {"case_id": "string", "stratum": "string", "probability": "Float64"},
    key=("case_id",),
)
"""A row a case to label; `probability` is with which it was drawn from its stratum's unlabelled."""

_MOST_LEVELS = 5
_ENOUGH = 5
_FEWEST = 2


def suggest_audit(
    cases: pd.DataFrame,
    pilot: pd.DataFrame,
    *,
    n: int,
    seed: int = 0,
    strata: Sequence[str] = ("judged",),
) -> pd.DataFrame:
    """Choose the cases whose labels shorten the interval of a corrected estimate most.

    Strata are the judge's verdicts, or scores, and what `strata` names beside. All labels, those
    of the pilot included, are divided by Neyman's rule: in proportion to the number of cases times
    the spread of label minus verdict. Within a stratum the order of cases is that of a hash of
    seed and id, so that a larger `n` mostly adds cases.

    Parameters
    ----------
    cases : columns case_id, judged and those of `strata`
        `judged` is a flag or a score; cases without one are not drawn. More than 5 different
        scores make up to 5 groups of about equal size.
    pilot : columns case_id, value
        The labels that there are, of cases drawn at random, or at random within these strata.
        Labels of other cases, and NAs, count for nothing.
    n : how many more cases to label
    seed : of the order
    strata : columns of `cases` whose values together make a stratum

    Returns
    -------
    an audit frame, as `AUDIT` says, strata in order and cases as they are to be labelled
        A stratum gets at least 5 labels in all, where `n` is enough for that, else at least 2, and
        all of its cases where these are fewer. Give `strata` as `audit_strata` returns them to
        `corrected_pass_rate` or `corrected_mean` together with all labels. Fewer than `n` where
        fewer cases are left.

    Raises
    ------
    ValueError
        If a column is missing, a case stands twice, has no value of `strata`, or `n` is too small
        for 2 labels in each stratum.

    Notes
    -----
    The spread within a stratum is of pass/fail labels that of Beta(1/2 + passes, 1/2 + fails), so
    that a few equal labels do not pass for none; of scores the root of (sum of squares about the
    stratum's mean difference + pooled variance) / labels, which gives the pooled variance, over
    all strata, the weight of one label. A stratum without a label has the pooled one.

    Drawing by what a pilot said makes the pooled mean of a stratum lean by a hair. Free of any bias
    is a sum over all cases of 1 / probability for each label of this draw, and 1 for the pilot's.

    References
    ----------
    Cochran (1977), Sampling Techniques, 5.5; Fisch et al. (2024), arXiv:2406.04291.

    Examples
    --------
    >>> cases = pd.DataFrame({"case_id": list("abcdefgh"), "judged": [True] * 6 + [False] * 2})
    >>> pilot = pd.DataFrame({"case_id": ["a", "b"], "value": [True, True]})
    >>> suggest_audit(cases, pilot, n=4)["stratum"].tolist()
    ['False', 'False', 'True', 'True']
    """
    n = check_count(n, "n", at_least=1)
    pool = _pool(cases, pilot, strata)
    grouped = pool.groupby("stratum", sort=True)
    sizes, n_labelled = grouped.size(), grouped["value"].count()
    left = sizes - n_labelled
    total = int(n_labelled.sum()) + min(n, int(left.sum()))
    if not len(sizes) or not left.sum():
        return AUDIT.empty()
    found = neyman_allocation(
        sizes / sizes.sum(),
        _spread(pool, list(sizes.index)),
        total,
        at_least=_least(n, sizes.to_numpy(), n_labelled.to_numpy()),
        sizes=sizes.to_numpy(),
        names=list(sizes.index),
    )
    more = {
        stratum: count - int(n_labelled[stratum])
        for stratum, count in zip(found["stratum"], found["n"].tolist(), strict=True)
    }
    rows: list[dict[str, Any]] = []
    for stratum, group in pool[pool["value"].isna()].groupby("stratum", sort=True):
        name = str(stratum)
        chosen = sorted(group["case_id"], key=lambda case_id: _rank(case_id, seed))[: more[name]]
        share = len(chosen) / len(group)
        rows += [{"case_id": c, "stratum": name, "probability": share} for c in chosen]
    return AUDIT.build(rows)


def audit_strata(cases: pd.DataFrame, strata: Sequence[str] = ("judged",)) -> pd.Series:
    """Return the stratum of each case, as `suggest_audit` has it.

    Parameters
    ----------
    cases, strata : as in `suggest_audit`

    Returns
    -------
    text, NA where there is no verdict; index as that of `cases`

    Examples
    --------
    >>> cases = pd.DataFrame({"judged": [True, None], "category": ["tax", "tax"]})
    >>> audit_strata(cases, ("judged", "category")).tolist()
    ['True, tax', <NA>]
    """
    if not strata:
        raise ValueError("`strata` must name a column of `cases`.")
    missing = [name for name in ("judged", *strata) if name not in cases.columns]
    if missing:
        raise ValueError(f"`cases` needs the columns {', '.join(missing)}.")
    judged = cases["judged"].notna()
    parts = []
    for name in strata:
        if cases.loc[judged, name].isna().any():
            raise ValueError(f"each case needs a value of `{name}` to be in a stratum. Got NA.")
        parts.append(_levels(cases["judged"]) if name == "judged" else cases[name].astype("string"))
    joined = [", ".join(map(str, row)) for row in zip(*parts, strict=True)]
    return pd.Series(joined, index=cases.index, dtype="string").where(judged, pd.NA)


def _pool(cases: pd.DataFrame, pilot: pd.DataFrame, strata: Sequence[str]) -> pd.DataFrame:
    """Return the cases with a verdict: case_id, stratum, judged and value, NaN without label."""
    for name, frame, columns in (
        ("cases", cases, ["case_id"]),
        ("pilot", pilot, ["case_id", "value"]),
    ):
        if missing := [column for column in columns if column not in frame.columns]:
            raise ValueError(f"`{name}` needs the columns {', '.join(missing)}.")
        if frame["case_id"].duplicated().any():
            twice = frame.loc[frame["case_id"].duplicated(), "case_id"].iloc[0]
            raise ValueError(f"`{name}` has one row for each case. Got two for {twice!r}.")
    values = pd.Series(numbers(pilot["value"], "value"), index=pilot["case_id"].astype("string"))
    pool = pd.DataFrame(
        {
            "case_id": cases["case_id"].astype("string"),
            "stratum": audit_strata(cases, strata),
            "judged": numbers(cases["judged"], "judged"),
        }
    )
    labels = values.reindex(pool["case_id"]).to_numpy(dtype="float64")
    return pool.assign(value=labels).dropna(subset=["stratum"]).reset_index(drop=True)


def _levels(judged: pd.Series) -> pd.Series:
    """Return flags and few levels as they are, many scores as groups by rank."""
    if judged.dropna().nunique() <= _MOST_LEVELS:
        return judged.astype("object")
    scores = pd.Series(numbers(judged, "judged"), index=judged.index)
    edges = np.unique(np.nanquantile(scores, np.linspace(0, 1, _MOST_LEVELS + 1)))
    return pd.cut(scores, list(edges), include_lowest=True).astype("object")


def _least(n: int, sizes: np.ndarray, labelled: np.ndarray) -> np.ndarray:
    """Return the fewest labels of each stratum in all: what it has, and 5 or else 2."""
    enough = np.maximum(np.minimum(_ENOUGH, sizes), labelled)
    fewest = np.maximum(np.minimum(_FEWEST, sizes), labelled)
    least: np.ndarray = enough if (enough - labelled).sum() <= n else fewest
    return least


def _spread(pool: pd.DataFrame, strata: list[str]) -> Floats:
    labelled = pool.dropna(subset=["value"])
    binary = pool["judged"].isin([0, 1]).all() and labelled["value"].isin([0, 1]).all()
    groups = [labelled[labelled["stratum"] == stratum] for stratum in strata]
    if binary:
        rates = [(group["value"].sum() + 0.5) / (len(group) + 1) for group in groups]
        return np.array([math.sqrt(rate * (1 - rate)) for rate in rates])
    return _shrunken([(group["value"] - group["judged"]).to_numpy() for group in groups])


def _shrunken(differences: list[Floats]) -> Floats:
    """Return the spread of each group, drawn to the pooled one as by one label more."""
    squares = np.array([((d - d.mean()) ** 2).sum() if len(d) else 0.0 for d in differences])
    sizes = np.array([len(d) for d in differences])
    degrees = (sizes - 1).clip(0).sum()
    pooled = float(squares.sum() / degrees) if degrees else 1.0
    variances: Floats = (squares + pooled) / np.maximum(sizes, 1)
    return np.sqrt(variances)


def _rank(case_id: str, seed: int) -> bytes:
    return hashlib.sha256(f"{seed}:{case_id}".encode()).digest()
