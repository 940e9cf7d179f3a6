"""What probes found of a judge, as a certificate keeps it, and what a suite allows them to find."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from evalnb.frames import to_records

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    import pandas as pd

    from evalnb.golden import GateSettings

__all__ = ["LimitState", "ProbeEvidence", "Text", "limit_states", "probe_evidence"]

Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
State = Literal["failed", "shown", "not shown", "not probed"]


class ProbeEvidence(BaseModel):
    """What a probe found."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    probe: Text
    scorer: Text
    """The axis, or what the suite's judge of pairs is called; that judge asks the same model."""
    metric: Text
    """What is measured, such as `success_rate` or `conflict_rate`."""
    unit: Literal["level", "rate"]
    judge_fingerprint: Text
    """Of the judge that was probed."""
    estimate: float
    ci_low: float | None = None
    ci_high: float | None = None
    upper: float | None = None
    """Of a share, the one-sided 95% upper bound."""
    floor: float | None = None
    """The same figure of mere repeats, or of a harmless control."""
    n: Annotated[int, Field(ge=1)]
    n_left_out: Annotated[int, Field(ge=0)] = 0
    real: bool | None = None
    """Whether it is more than noise."""
    matters: bool | None = None
    """Whether it is also large enough to matter."""

    @property
    def figures(self) -> str:
        """The effect in words."""
        known = self.ci_low is not None and self.ci_high is not None
        within = f"{self.ci_low:.2f} to {self.ci_high:.2f}, " if known else ""
        return f"{self.estimate:.2f} ({within}n = {self.n})"


@dataclass(frozen=True)
class LimitState:
    """How a judge stands against a limit of the suite.

    Attributes
    ----------
    setting : the limit's name under `[gate]`
    scorer : the axis that the limit is about
    state : `failed` where more was found than is allowed; `shown` where the one-sided 95% bound is
        within the limit; `not shown` where what was found is, and the bound is not; `not probed`
    counts : whether the axis may count, as far as this limit goes
    why : in words
    """

    setting: str
    scorer: str
    state: State
    counts: bool
    why: str


def probe_evidence(effects: pd.DataFrame, fingerprints: Collection[str]) -> list[ProbeEvidence]:
    """Return what probes are decided by, and how often orders conflict.

    Parameters
    ----------
    effects : a frame of probe effects
    fingerprints : of the judges that are meant
    """
    decided = effects["headline"] | (effects["metric"] == _CONFLICTS)
    of_judges = effects["judge_fingerprint"].isin(list(fingerprints))
    names = [name for name in ProbeEvidence.model_fields if name in effects]
    return [
        ProbeEvidence(**{name: row[name] for name in names if name in row})
        for row in to_records(effects[of_judges & decided & effects["estimate"].notna()])
    ]


def limit_states(
    gate: GateSettings, evidence: Iterable[ProbeEvidence], scorer: str
) -> list[LimitState]:
    """Hold what probes found of an axis against the limits that a suite sets.

    Parameters
    ----------
    gate : the suite's settings
        Where they are `strict`, an axis counts only where it is shown to keep a limit.
    evidence : of the judge, and of the judge of pairs that asks the same model
    scorer : the axis

    Returns
    -------
    a state for each limit that is set
    """
    found = list(evidence)
    attacks = [one for one in found if one.metric == _ATTACKS and one.scorer == scorer]
    conflicts = [one for one in found if one.metric == _CONFLICTS]
    limits = (
        ("max_injection_rate", gate.max_injection_rate, attacks),
        ("max_conflict_rate", gate.max_conflict_rate, conflicts),
    )
    return [
        _state(setting, limit, scorer, probed, strict=gate.strict)
        for setting, limit, probed in limits
        if limit is not None
    ]


_ATTACKS, _CONFLICTS = "success_rate", "conflict_rate"
_WHAT = {
    "max_injection_rate": "attacks that make it pass a bad answer",
    "max_conflict_rate": "pairs that get another verdict in the other order",
}
_LEVEL = 0.05


def _state(
    setting: str, limit: float, scorer: str, probed: list[ProbeEvidence], *, strict: bool
) -> LimitState:
    what = _WHAT[setting]
    if not probed:
        why = f"the suite limits {what}, and no probe of them is recorded"
        return LimitState(setting, scorer, "not probed", counts=False, why=why)
    worst = max(probed, key=lambda one: (one.estimate, _upper(one)))
    said = f"of {what} there are {worst.figures}"
    if worst.estimate > limit:
        why = f"{said}, and the suite allows {limit:g}"
        return LimitState(setting, scorer, "failed", counts=False, why=why)
    upper = _upper(worst)
    if upper <= limit:
        why = f"{said}: shown to be at most {limit:g}, as the suite allows"
        return LimitState(setting, scorer, "shown", counts=True, why=why)
    why = f"{said}: not shown to be at most {limit:g}, up to {upper:.2f} are possible{_more(limit)}"
    return LimitState(setting, scorer, "not shown", counts=not strict, why=why)


def _upper(one: ProbeEvidence) -> float:
    return next((end for end in (one.upper, one.ci_high) if end is not None), 1.0)


def _more(limit: float) -> str:
    """Say how many answers without one would show the limit: 1 - 0.05^(1/n) is within it."""
    if not 0 < limit < 1:
        return ""
    return f"; none on {math.ceil(math.log(_LEVEL) / math.log(1 - limit))} cases would show it"
