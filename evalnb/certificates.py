"""Judge certificates: the evidence that lets a judge's verdicts count, and for how long.

A certificate ties a judge's fingerprint to its agreement with people. Without a valid one what the
judge says is advice; with one, the axes that reached the bar count, and the others do not.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Annotated, Literal, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    model_validator,
)
from pydantic_core import PydanticCustomError

from evalnb.errors import InputError, Problem
from evalnb.jsontext import JsonProblem, parse_json, write_atomically
from evalnb.probe_evidence import ProbeEvidence, Text, limit_states
from evalnb.stats.kappa import agreement_grade
from evalnb.validation import validation_problems

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    import pandas as pd

    from evalnb.golden import GateSettings, GoldenSet

__all__ = [
    "COUNTING_GRADES",
    "PAIRS_SCORER",
    "WORKING_MINIMUM",
    "AxisEvidence",
    "Certificate",
    "Standing",
    "counting_scorers",
    "pairs_standing",
    "read_certificates",
    "standings",
    "with_standing",
    "write_certificate",
]

COUNTING_GRADES = frozenset({"usable", "strong"})
"""Grades of agreement with which verdicts count."""

PAIRS_SCORER = "pairwise"
"""What a certificate calls the agreement of a judge of pairs with people."""

WORKING_MINIMUM = 50
"""Labels an axis with which a judge can be shown to be good; fewer find bad ones."""

_FORMAT = 1
_FILE = "certificates.json"
_GRADES = ("revise", "usable", "strong")
_MOST_DAYS = 366
_REMEDY = "Restore it from git, or delete it and certify the judges anew with `evalnb certify`."

Share = Annotated[float, Field(ge=-1, le=1)]


class AxisEvidence(BaseModel):
    """How far a judge agrees with people on one axis."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    grade: Literal["strong", "usable", "revise"]
    metric: Text
    """The statistic of the figures, such as `kappa_quadratic`."""
    estimate: Share | None = None
    ci_low: Share | None = None
    """Lower end of the 95% interval, on which the grade rests."""
    ci_high: Share | None = None
    n: Annotated[int, Field(ge=0)]
    """Outputs with both a label and a verdict."""
    n_left_out: Annotated[int, Field(ge=0)] = 0
    method: Text
    reason: Text | None = None
    """Why there is no estimate."""

    @model_validator(mode="after")
    def _check_grade(self) -> Self:
        earned = agreement_grade(self.ci_low, self.ci_high)
        if _GRADES.index(self.grade) > _GRADES.index(earned):
            raise PydanticCustomError(
                "grade",
                "has the grade `{grade}`, and its interval is worth `{earned}`. Certify anew.",
                {"grade": self.grade, "earned": earned},
            )
        return self

    @property
    def figures(self) -> str:
        """The agreement in words."""
        if self.estimate is None or self.ci_low is None or self.ci_high is None:
            return f"agreement with people is not known, {self.reason or 'no interval'}"
        return (
            f"agreement with people {self.estimate:.2f} "
            f"({self.ci_low:.2f} to {self.ci_high:.2f}, {self.n} labels)"
        )


class Certificate(BaseModel):
    """The evidence for one judge, as it stands in `certificates.json`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    judge: Text
    fingerprint: Text
    model: Text
    answered: list[Text]
    """Model ids as the API returned them."""
    issued: date
    expires: date
    """The last day on which it holds."""
    golden_version: Text
    run_id: Text
    raters: Annotated[list[Text], Field(min_length=1)]
    axes: Annotated[dict[Text, AxisEvidence], Field(min_length=1)]
    """Scorer to what was found of it."""
    probes: list[ProbeEvidence] = []
    """What sways the judge, as far as it was probed."""

    @model_validator(mode="after")
    def _check_days(self) -> Self:
        if (self.expires - self.issued).days > _MOST_DAYS:
            raise PydanticCustomError(
                "expires",
                "holds for more than {most} days after it was issued. Certify anew.",
                {"most": _MOST_DAYS},
            )
        return self


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid")

    format: Literal[1]
    certificates: list[Certificate]


@dataclass(frozen=True)
class Standing:
    """Whether the verdicts of a scorer count in a run.

    Attributes
    ----------
    counts : whether they do; else they are advice
    why : in words
    """

    counts: bool
    why: str


def read_certificates(golden: GoldenSet) -> tuple[Certificate, ...]:
    """Read a suite's certificates; a suite without the file has none.

    Raises
    ------
    InputError
        If the file is damaged, or has two certificates for one fingerprint.
    """
    path = golden.folder / _FILE if golden.folder else None
    if path is None or not path.exists():
        return ()
    try:
        content = parse_json(path.read_text(encoding="utf-8"))
        file = _File.model_validate(content)
    except JsonProblem as problem:
        raise _unusable(path, problem.message, problem.field) from problem
    except (OSError, UnicodeDecodeError) as error:
        raise _unusable(path, f"cannot be read: {error}.") from error
    except ValidationError as error:
        problems = validation_problems(error, str(path), 0, _File)
        raise InputError("the certificates cannot be used", problems) from error
    seen: set[str] = set()
    for number, certificate in enumerate(file.certificates):
        if certificate.fingerprint in seen:
            message = f"is a second certificate of {certificate.fingerprint}."
            raise _unusable(path, message, f"certificates.{number}")
        seen.add(certificate.fingerprint)
    return tuple(file.certificates)


def write_certificate(golden: GoldenSet, certificate: Certificate) -> Path:
    """Add a certificate to a suite's, in the place of an older one of the same fingerprint.

    Returns
    -------
    the file, which is to be reviewed and committed

    Raises
    ------
    InputError
        If the suite has no folder, or its certificates are damaged.
    """
    if golden.folder is None:
        raise InputError("only a suite has certificates: give a suite's folder, not a JSONL file")
    others = [
        one for one in read_certificates(golden) if one.fingerprint != certificate.fingerprint
    ]
    kept = sorted([*others, certificate], key=lambda one: (one.judge, one.issued, one.fingerprint))
    path = golden.folder / _FILE
    content = _File(format=_FORMAT, certificates=kept).model_dump_json(indent=1, exclude_none=True)
    write_atomically(path, f"{content}\n".encode())
    return path


def standings(
    scores: pd.DataFrame,
    certificates: Iterable[Certificate],
    as_of: date,
    gate: GateSettings | None = None,
) -> dict[str, Standing]:
    """Say of each scorer with verdicts whether they count.

    Parameters
    ----------
    scores : a scores frame
    certificates : of the suite
    as_of : the day on which they must hold
    gate : what the suite allows probes to find; by default anything

    Returns
    -------
    scorer to its standing
    """
    by_fingerprint = {one.fingerprint: one for one in certificates}
    judged = scores[(scores["tier"] == "judge") & scores["judge_fingerprint"].notna()]
    return {
        str(scorer): _standing(str(scorer), rows, by_fingerprint, as_of, gate)
        for scorer, rows in judged.groupby("scorer", sort=True)
    }


def pairs_standing(
    pairs: pd.DataFrame,
    certificates: Iterable[Certificate],
    as_of: date,
    gate: GateSettings | None = None,
) -> Standing:
    """Say whether the verdicts of a judge of pairs count; parameters as for `standings`."""
    judged = pairs.assign(tier="judge", scorer=PAIRS_SCORER)
    found = standings(judged, certificates, as_of, gate)
    return found.get(PAIRS_SCORER, Standing(counts=False, why="nobody was asked"))


def with_standing(scores: pd.DataFrame, found: Mapping[str, Standing]) -> pd.DataFrame:
    """Mark which judges' scores are advice, and which count.

    Parameters
    ----------
    scores : a scores frame
    found : as `standings` gives it; the scores of other judges are advice

    Returns
    -------
    the frame with the column `advisory` set: False where a judge's score counts, True where it is
    advice, NA for rules
    """
    counting = [scorer for scorer, standing in found.items() if standing.counts]
    advisory = (~scores["scorer"].isin(counting)).astype("boolean")
    return scores.assign(advisory=advisory.where(scores["tier"] == "judge"))


def counting_scorers(scores: pd.DataFrame) -> list[str]:
    """Name the judges' scorers whose verdicts count in a run, sorted."""
    counts = (scores["tier"] == "judge") & ~scores["advisory"].fillna(value=True)
    return sorted(scores.loc[counts, "scorer"].unique())


def _standing(
    scorer: str,
    rows: pd.DataFrame,
    certificates: Mapping[str, Certificate],
    as_of: date,
    gate: GateSettings | None,
) -> Standing:
    fingerprints = rows["judge_fingerprint"].unique()
    certificate = certificates.get(str(fingerprints[0])) if len(fingerprints) == 1 else None
    if certificate is None:
        of_scorer = [one for one in certificates.values() if scorer in one.axes]
        if of_scorer:
            return Standing(counts=False, why="the judge is another than the certificate is for")
        return Standing(counts=False, why="no certificate")
    if why := _objection(certificate, scorer, rows, as_of):
        return Standing(counts=False, why=why)
    limits = [] if gate is None else limit_states(gate, certificate.probes, scorer)
    if failed := [limit.why for limit in limits if not limit.counts]:
        return Standing(counts=False, why="; ".join(failed))
    said = [certificate.axes[scorer].figures, *(limit.why for limit in limits)]
    return Standing(counts=True, why=f"certified until {certificate.expires}: {'; '.join(said)}")


def _objection(certificate: Certificate, scorer: str, rows: pd.DataFrame, as_of: date) -> str:
    """Say why a judge's own certificate does not make a scorer count; "" where it does."""
    if as_of > certificate.expires:
        return f"the certificate expired on {certificate.expires}"
    if as_of < certificate.issued:
        return f"the certificate is of {certificate.issued}, after the day of this run"
    answered = sorted(rows["judge_model_answered"].dropna().unique())
    others = [name for name in answered if name not in certificate.answered]
    if others:
        known = ", ".join(certificate.answered)
        return f"the judge answered as {', '.join(others)}, and its certificate is for {known}"
    evidence = certificate.axes.get(scorer)
    if evidence is None:
        return "the certificate has no evidence for it"
    if evidence.grade not in COUNTING_GRADES:
        return f"the certificate says that it is not usable yet: {evidence.figures}"
    return ""


def _unusable(path: Path, what: str, field: str = "") -> InputError:
    problem = Problem(str(path), 0, field, what, _REMEDY)
    return InputError("the certificates cannot be used", [problem])
