"""The public sets by name, with what a reader must know of each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from evalnb.datasets import hanna, pandalm, triviaqa
from evalnb.errors import InputError, nearest_name

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd

    from evalnb.ratings import AxisScale

__all__ = ["DATASETS", "Dataset", "dataset"]


@dataclass(frozen=True)
class Dataset:
    """Public ratings with their scale.

    Attributes
    ----------
    name : what it is called
    about : what it is, in a sentence
    scale : of all its axes
    load : returns its ratings frame
    judge : the judge that is looked at first
    compared : judges to put side by side
    unread_as : the level that the authors count an unread verdict as, and why that matters
    notice : licence and source
    """

    name: str
    about: str
    scale: AxisScale
    load: Callable[[], pd.DataFrame]
    judge: str
    compared: tuple[str, ...]
    unread_as: int
    notice: str


DATASETS: dict[str, Dataset] = {
    one.name: one
    for one in (
        Dataset(
            "hanna",
            "1,056 stories, rated from 1 to 5 by three people and by five language models with "
            "four prompts each.",
            hanna.SCALE,
            hanna.load_hanna,
            judge="ChatGPT_p1",
            compared=(
                "ChatGPT_p1",
                "Beluga-13B_p1",
                "Mistral-7B_p1",
                "Llama-13B_p1",
                "OrcaPlatypus_p1",
            ),
            unread_as=3,
            notice="MIT, dig-team/hanna-benchmark-asg",
        ),
        Dataset(
            "triviaqa",
            "3,600 short answers of nine models to 400 questions, called right or wrong by "
            "people, by four language models and by two rules.",
            triviaqa.SCALE,
            triviaqa.load_triviaqa,
            judge="GPT-4",
            compared=("GPT-4", "Llama3-70B", "Mistral-7B", "Gemma-2B", "EM", "Contains"),
            unread_as=0,
            notice="MIT, UMass-Meta-LLM-Eval/llm_eval",
        ),
        Dataset(
            "pandalm",
            "999 pairs of answers; three people and gpt-3.5-turbo said which is the better one.",
            pandalm.SCALE,
            pandalm.load_pandalm,
            judge="gpt-3.5-turbo",
            compared=("gpt-3.5-turbo",),
            unread_as=0,
            notice="Apache-2.0, WeOpenML/PandaLM",
        ),
    )
}


def dataset(name: str) -> Dataset:
    """Return a public set by its name.

    Raises
    ------
    InputError
        If there is none of that name.
    """
    if name not in DATASETS:
        near = nearest_name(name, list(DATASETS))
        hint = f" (did you mean {near!r}?)" if near else ""
        raise InputError(
            f"there is no public set {name!r}{hint} in evalnb. There are: {', '.join(DATASETS)}."
        )
    return DATASETS[name]
