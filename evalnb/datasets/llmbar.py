"""LLMBar: pairs with one answer that is better beyond dispute, judged in both orders."""

from __future__ import annotations

import pandas as pd

from evalnb.datasets.files import packed_text

__all__ = ["load_llmbar", "load_llmbar_published"]

_KEYS = ["subset", "judge", "strategy", "item"]


def load_llmbar() -> pd.DataFrame:
    """Return which of two answers GPT-4 and Falcon found better in either order.

    Returns
    -------
    subset, judge, strategy, item : 8,682 rows; 592 pairs of five subsets
        `strategy` is the prompt; two prompts of GPT-4 were run on all subsets, the others on
        three. `label` is the answer that people call better, 1 or 2.
        `verdict_ab` is what was said with answer 1 shown first, `verdict_ba` with answer 2 first;
        both name the answer by content, 1 or 2, and are NA where no verdict could be read.
        `score_1`, `score_2` are of the prompts that rate, `chars_1`, `chars_2` the lengths.

    References
    ----------
    Zeng et al. (2024), Evaluating Large Language Models at Evaluating Instruction Following,
    arXiv:2310.07641.

    Examples
    --------
    >>> verdicts = load_llmbar()
    >>> len(verdicts), int(verdicts["verdict_ab"].isna().sum())
    (8682, 9)
    """
    frame = pd.read_csv(packed_text("llmbar_verdicts.csv")).rename(columns={"idx": "item"})
    whole = ["item", "label", "verdict_ab", "verdict_ba", "chars_1", "chars_2"]
    return frame.astype(
        {
            **dict.fromkeys(_KEYS[:3], "string"),
            **dict.fromkeys(whole, "Int64"),
            **dict.fromkeys(["score_1", "score_2"], "Float64"),
        }
    )


def load_llmbar_published() -> pd.DataFrame:
    """Return the figures that the authors of LLMBar print of the same runs.

    Returns
    -------
    subset, judge, strategy : 79 rows
        `accuracy_ab`, `accuracy_ba`, `accuracy` (their mean), `accuracy_both` and
        `position_agreement`, where an unread verdict is wrong, and two unread ones agree.
        `kappa_agreement` is Cohen's kappa of the two orders.

    Examples
    --------
    >>> len(load_llmbar_published())
    79
    """
    frame = pd.read_csv(packed_text("llmbar_published.csv"))
    figures = [name for name in frame.columns if name not in _KEYS]
    return frame.astype({**dict.fromkeys(_KEYS[:3], "string"), **dict.fromkeys(figures, "Float64")})
