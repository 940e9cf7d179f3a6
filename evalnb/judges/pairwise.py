"""The judge of pairs: which of two answers serves the person better."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evalnb.judges.judge import Judge
from evalnb.judges.texts import candidate_text, context_text, conversation_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from evalnb.cases import Case
    from evalnb.judges.judge import JudgedScore

__all__ = ["PairwiseJudge"]


class PairwiseJudge(Judge):
    """Says which of two answers is better; who shows them asks in both orders."""

    template = "{conversation}\n\n{context}\n\n{first}\n\n{second}\n\nSay which is better."

    def applies_to(self, case: Case) -> bool:
        """Take every case."""
        return True

    def properties(self, case: Case, part: str) -> dict[str, Any]:
        """Ask for what speaks for and against each, then for the better one."""
        return {
            "about_first": self.text,
            "about_second": self.text,
            "better": {"enum": ["first", "second", "tie"]},
        }

    def scores(self, case: Case, part: str, answers: Mapping[str, Any]) -> Iterator[JudgedScore]:
        """Refuse: a pair has no score of one answer."""
        raise TypeError("a judge of pairs scores no single answer: ask it by `judge_pairs`")

    def blocks(self, case: Case, output: Mapping[str, Any]) -> dict[str, str]:
        """Return what is shown: of `output` the records `first` and `second`."""
        return {
            "conversation": conversation_text(case),
            "context": context_text(case),
            "first": candidate_text(output["first"]),
            "second": candidate_text(output["second"]),
        }

    def pair_request(
        self, case: Case, first: Mapping[str, Any], second: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Return the request about two outputs in this order.

        Parameters
        ----------
        case : what both are for
        first, second : records of an outputs frame
        """
        return self.request(case, {"first": first, "second": second})
