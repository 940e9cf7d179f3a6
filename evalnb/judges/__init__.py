"""Judges: scorers that ask a model."""

from evalnb.judges.files import Axis, JudgeFile, package_axes
from evalnb.judges.judge import ALL, Judge, JudgedScore
from evalnb.judges.loading import check_judges, load_judge, load_pairwise_judge, suite_judges
from evalnb.judges.pairwise import PairwiseJudge
from evalnb.judges.verdicts import Verdict, read_verdict

__all__ = [
    "ALL",
    "Axis",
    "Judge",
    "JudgeFile",
    "JudgedScore",
    "PairwiseJudge",
    "Verdict",
    "check_judges",
    "load_judge",
    "load_pairwise_judge",
    "package_axes",
    "read_verdict",
    "suite_judges",
]
