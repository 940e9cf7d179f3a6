"""Public ratings and conversations, in the package; `README.md` says where they are from."""

from evalnb.datasets.hanna import load_hanna
from evalnb.datasets.llmbar import load_llmbar, load_llmbar_published
from evalnb.datasets.pandalm import load_pandalm
from evalnb.datasets.position_study import load_judge_repeats, load_position_study
from evalnb.datasets.public import DATASETS, Dataset, dataset
from evalnb.datasets.taubench import load_taubench_airline
from evalnb.datasets.triviaqa import load_triviaqa

__all__ = [
    "DATASETS",
    "Dataset",
    "dataset",
    "load_hanna",
    "load_judge_repeats",
    "load_llmbar",
    "load_llmbar_published",
    "load_pandalm",
    "load_position_study",
    "load_taubench_airline",
    "load_triviaqa",
]
