"""From verdicts to scores: what passes, by the suite's own rule, without asking anybody again."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from evalnb.frames import to_records

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd

    from evalnb.cases import Case
    from evalnb.golden import JudgingSettings
    from evalnb.judges import Judge, JudgedScore

__all__ = ["Panel", "decided"]


class Panel:
    """The judges of a run with what they said.

    Parameters
    ----------
    settings : the suite's pass rule
    judges : who was asked, or could have been
    verdicts : a verdicts frame; None where nobody was asked
    """

    def __init__(
        self,
        settings: JudgingSettings,
        judges: Sequence[Judge],
        verdicts: pd.DataFrame | None,
    ) -> None:
        self._settings = settings
        self._judges = {judge.name: judge for judge in judges}
        self._given: dict[tuple[str, int], list[dict[str, Any]]] = {}
        for row in () if verdicts is None else to_records(verdicts):
            self._given.setdefault((row["case_id"], row["repeat"]), []).append(row)

    def scorers(self, case: Case) -> list[str]:
        """Name the scorers that judges have for a case."""
        return [
            name
            for judge in self._judges.values()
            if judge.applies_to(case)
            for name in judge.scorers
        ]

    def scores(self, case: Case, output: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
        """Return what the judges say of an output.

        Parameters
        ----------
        case : what the output is for
        output : a record of an outputs frame

        Returns
        -------
        scorer to the columns of a score
            A verdict of another output, of a judge that has changed since, or on other criteria
            than the case has, does not count. One verdict that is missing leaves the score missing.
        """
        parts: dict[str, list[dict[str, Any]]] = {}
        for row in self._given.get((case.id, output["repeat"]), ()):
            judge = self._judges.get(row["judge"])
            if judge is None or row.get("output_hash") != output.get("output_hash"):
                continue
            if row["judge_fingerprint"] != judge.fingerprint or _is_of_another(judge, case, row):
                continue
            for scorer, found in self._of_verdict(judge, case, row).items():
                parts.setdefault(scorer, []).append(found)
        return {scorer: _merged(found) for scorer, found in parts.items()}

    def _of_verdict(
        self, judge: Judge, case: Case, row: Mapping[str, Any]
    ) -> dict[str, dict[str, Any]]:
        scorers = judge.scorers if row["part"] not in judge.scorers else (row["part"],)
        shared = {
            "judge_model": row["judge_model"],
            "judge_model_answered": row.get("judge_model_answered"),
            "judge_fingerprint": row["judge_fingerprint"],
            # Of one call for several scorers each has its share, so that sums are true.
            "cost_usd": row["cost_usd"] / len(scorers) if "cost_usd" in row else None,
        }
        if "na_reason" in row:
            missing = {"na_reason": row["na_reason"], "error": row.get("error")}
            return {scorer: {**shared, **missing} for scorer in scorers}
        return {
            judged.scorer: {**shared, **decided(self._settings, judged)}
            for judged in judge.scores(case, row["part"], row["answers"])
        }


def decided(settings: JudgingSettings, judged: JudgedScore) -> dict[str, Any]:
    """Return what follows from a judge's score by the suite's rule: columns of a score."""
    needed = settings.pass_scores.get(judged.scorer, settings.pass_score)
    unmet = list(judged.unmet) if settings.unmet_fails else []
    said = [f"{judged.score} of {judged.high}, {needed:g} needed"]
    if judged.raw != judged.score:
        said.append(f"{judged.raw} was answered and is rounded half up")
    said += unmet
    return {
        "value": judged.value,
        "raw_value": float(judged.raw),
        "passed": judged.score >= needed and not unmet,
        "reason": f"{'; '.join(said)}\n{judged.reason}",
    }


def _is_of_another(judge: Judge, case: Case, row: Mapping[str, Any]) -> bool:
    """Tell whether a verdict answers other questions than the judge has of a case."""
    return "answers" in row and row["answers"].keys() != judge.properties(case, row["part"]).keys()


def _merged(parts: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Make one score of repeated verdicts: means, and what most of them decide."""
    if len(parts) == 1:
        return parts[0]
    first = dict(parts[0])
    first["cost_usd"] = _total([part["cost_usd"] for part in parts])
    missing = next((part for part in parts if "na_reason" in part), None)
    if missing is not None:
        return {**missing, "cost_usd": first["cost_usd"]}
    n_passed = sum(part["passed"] for part in parts)
    reasons = "\n\n".join(
        f"Verdict {number}: {part['reason']}" for number, part in enumerate(parts, 1)
    )
    return {
        **first,
        "value": math.fsum(part["value"] for part in parts) / len(parts),
        "raw_value": math.fsum(part["raw_value"] for part in parts) / len(parts),
        "passed": 2 * n_passed > len(parts),
        "reason": f"{n_passed} of {len(parts)} verdicts pass\n\n{reasons}",
    }


def _total(costs: Sequence[float | None]) -> float | None:
    known = [cost for cost in costs if cost is not None]
    return math.fsum(known) if len(known) == len(costs) else None
