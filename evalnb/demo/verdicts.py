"""The other judge of the demo: the recorded verdicts, each one level lower."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evalnb.judges import suite_judges
from evalnb.systems.fingerprints import fingerprint

if TYPE_CHECKING:
    import pandas as pd

    from evalnb.golden import GoldenSet

__all__ = ["OTHER_MODEL", "lowered"]

OTHER_MODEL = "synthetic-stricter-judge"
_MARK = "[synthetic: recorded one level higher]"


def lowered(golden: GoldenSet, scores: pd.DataFrame) -> pd.DataFrame:
    """Return scores as a stricter judge might have given them.

    Parameters
    ----------
    golden : the suite, for the judges' scales and what passes
    scores : a scores frame

    Returns
    -------
    the frame, in which judges' levels above the lowest are one lower, marked in their reasons, and
    all judges have another fingerprint and answering model
    """
    scales = {axis: scale for one in suite_judges(golden) for axis, scale in one.scales.items()}
    given = scores["tier"].eq("judge") & scores["raw_value"].notna()
    changed = scores.copy()
    changed.loc[given, ["value", "raw_value", "passed", "reason"]] = [
        _lower(golden, scales, row)
        for row in scores[given][["scorer", "raw_value", "reason"]].itertuples(index=False)
    ]
    asked = scores["judge_fingerprint"].notna()
    changed.loc[asked, "judge_fingerprint"] = [
        fingerprint(f"{found} {OTHER_MODEL}") for found in scores.loc[asked, "judge_fingerprint"]
    ]
    changed.loc[given, "judge_model_answered"] = OTHER_MODEL
    return changed.astype(scores.dtypes)


def _lower(golden: GoldenSet, scales: dict[str, tuple[int, int]], row: Any) -> list[Any]:
    low, high = scales[row.scorer]
    level = max(row.raw_value - 1, low)
    settings = golden.settings.judging
    needed = settings.pass_scores.get(row.scorer, settings.pass_score)
    said = row.reason.partition("\n")[2]
    mark = f" {_MARK}" if level < row.raw_value else ""
    reason = f"{level:g} of {high:g}, {needed:g} needed{mark}\n{said}"
    return [(level - low) / (high - low), level, bool(level >= needed), reason]
