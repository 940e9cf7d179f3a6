"""How far what users say is from what the golden set asks, as one number with a test."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalnb.curation.candidates.vectors import tfidf
from evalnb.stats.mmd import MMD, maximum_mean_discrepancy

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

__all__ = ["text_distance"]

_MOST = 5_000
_DIMENSIONS = 50


def text_distance(golden: Sequence[str], traffic: Sequence[str], *, seed: int = 0) -> pd.DataFrame:
    """Return the squared maximum mean discrepancy of two lists of texts.

    Texts become vectors by latent semantic analysis: TF-IDF of character 3- to 5-grams on its 50
    strongest dimensions. For embeddings of your own take
    `evalnb.stats.mmd.maximum_mean_discrepancy`. A golden set is made to differ from traffic: say
    where with `text_drift`, and compare the distance with that of last month.

    Parameters
    ----------
    golden, traffic : what the user says, a text a case and a text a conversation
    seed : of the analysis and of the permutations

    Returns
    -------
    one row, `mmd_squared`, as `evalnb.stats.mmd.MMD` says
        NA `too_few` below two texts on a side.

    Raises
    ------
    ValueError
        If there are more than 5,000 texts: read a sample.

    References
    ----------
    Deerwester, Dumais, Furnas, Landauer & Harshman (1990), Indexing by latent semantic analysis,
    Journal of the American Society for Information Science 41(6).
    """
    n = len(golden) + len(traffic)
    if n > _MOST:
        raise ValueError(f"{n:,} texts are too many to compare: read a sample at a `rate`")
    if min(len(golden), len(traffic)) < 2:
        return MMD.build([{"metric": "mmd_squared", "n": n, "reason": "too_few"}])
    from scipy.sparse import vstack
    from sklearn.decomposition import TruncatedSVD

    grams = vstack(tfidf(golden, traffic)).tocsc()
    grams = grams[:, grams.getnnz(axis=0) > 0]  # hashed n-grams are a million columns, mostly empty
    analysis = TruncatedSVD(min(_DIMENSIONS, n - 1, grams.shape[1]), random_state=seed)
    vectors = analysis.fit_transform(grams.tocsr())
    return maximum_mean_discrepancy(vectors[: len(golden)], vectors[len(golden) :], seed=seed)
