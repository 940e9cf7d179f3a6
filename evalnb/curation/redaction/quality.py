"""How much of known personal data is found, and how much of what is found is such."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pandas as pd

from evalnb.stats.rates import RATES, rate_of_counts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evalnb.curation.redaction.spans import Span

__all__ = ["redaction_quality"]


def redaction_quality(
    found: Sequence[Sequence[Span]], gold: Sequence[Sequence[Span]]
) -> pd.DataFrame:
    """Return recall and precision of redaction by kind.

    A gold span is recalled when all of it is replaced, by whatever kind: one digit that stays in
    sight is a miss. What was found is right when it overlaps a gold span of the same kind.

    Parameters
    ----------
    found : what was found, a list a text
    gold : what people say is there, in the same order of texts

    Returns
    -------
    a rates frame : `recall KIND` for each kind in `gold`, `precision KIND` for each in `found`
        With Wilson's interval, as if the spans were independent of each other.

    Raises
    ------
    ValueError
        If the two have not as many texts.

    Examples
    --------
    >>> from evalnb.curation.redaction.spans import Span
    >>> rows = redaction_quality([[Span(0, 4, "IP")]], [[Span(0, 4, "IP"), Span(6, 9, "NAME")]])
    >>> rows[["metric", "estimate", "n"]].values.tolist()
    [['precision IP', 1.0, 1], ['recall IP', 1.0, 1], ['recall NAME', 0.0, 1]]
    """
    if len(found) != len(gold):
        raise ValueError(f"there are {len(found)} texts with findings, {len(gold)} with gold spans")
    n: Counter[str] = Counter()
    right: Counter[str] = Counter()
    for spans, known in zip(found, gold, strict=True):
        for span in known:
            name = f"recall {span.kind}"
            n[name] += 1
            right[name] += any(one.start <= span.start and span.end <= one.end for one in spans)
        for span in spans:
            name = f"precision {span.kind}"
            n[name] += 1
            right[name] += any(
                one.kind == span.kind and one.start < span.end and span.start < one.end
                for one in known
            )
    rows = [rate_of_counts(right[name], n[name]).assign(metric=name) for name in sorted(n)]
    return RATES.check(pd.concat(rows)) if rows else RATES.empty()
