"""Judges: scorers that ask a model, one verdict a call."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from evalnb.judges.files import JudgeFile, package_axes, prompt
from evalnb.judges.texts import (
    candidate_text,
    code_of,
    context_text,
    conversation_text,
    message,
)
from evalnb.judges.verdicts import PARSER_VERSION, rounded, schema_object
from evalnb.names import DEFAULT_JUDGE_MODEL
from evalnb.systems.fingerprints import fingerprint, made_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from evalnb.cases import Case
    from evalnb.judges.files import Axis

__all__ = [
    "ALL",
    "AxesJudge",
    "FaithfulnessJudge",
    "Judge",
    "JudgedScore",
    "ReferenceJudge",
    "RubricJudge",
    "kind_of",
]

ALL = "all"
"""The part of a verdict where one call is about everything."""

_LOW, _HIGH = 1, 5


@dataclass(frozen=True)
class JudgedScore:
    """What one verdict says for one scorer.

    Attributes
    ----------
    scorer : as in the `scorer` column
    raw : the score as it was answered; decimals are rounded half up for what follows from it
    low, high : ends of the scale
    reason : the judge's own words
    unmet : what fails the output whatever its score, in words; empty where nothing does
    """

    scorer: str
    raw: float
    low: int
    high: int
    reason: str
    unmet: Sequence[str] = ()

    @property
    def score(self) -> int:
        """The level that the answer stands for."""
        return rounded(self.raw)

    @property
    def value(self) -> float:
        """The level on [0, 1]."""
        return (self.score - self.low) / (self.high - self.low)


@dataclass(frozen=True)
class Judge(ABC):
    """What is asked of which model, and what its answers mean; the base of every judge.

    A judge of your own is a subclass: it must say in `applies_to` whom it is for, in `properties`
    what is to be answered and in `scores` what the answers mean; `blocks` says what is shown.

    Attributes
    ----------
    name : what the judge is called
    file : what its file says
    model : the model that is asked
    path : of its file, None for a judge of the package
    """

    name: str
    file: JudgeFile
    model: str = DEFAULT_JUDGE_MODEL
    path: Path | None = field(default=None, compare=False)

    template: ClassVar[str] = "{conversation}\n\n{context}\n\n{candidate}\n\nJudge the candidate."

    @property
    def scorers(self) -> tuple[str, ...]:
        """The scorers that have a row of each verdict."""
        return (self.file.kind,)

    @property
    def scales(self) -> dict[str, tuple[int, int]]:
        """The ends of each scorer's scale."""
        return dict.fromkeys(self.scorers, (_LOW, _HIGH))

    @abstractmethod
    def applies_to(self, case: Case) -> bool:
        """Tell whether a case is one for this judge."""

    def parts(self) -> tuple[str, ...]:
        """Return what each call is about: one call about all, if nothing else is said."""
        return (ALL,)

    def instructions(self, part: str) -> str:
        """Return the text that all cases share."""
        return self.file.system or prompt(self.file.kind)

    def blocks(self, case: Case, output: Mapping[str, Any]) -> dict[str, str]:
        """Return what the template may show, by name; all of it is taken to be untrusted."""
        return {
            "conversation": conversation_text(case),
            "context": context_text(case),
            "candidate": candidate_text(output),
        }

    @abstractmethod
    def properties(self, case: Case, part: str) -> dict[str, Any]:
        """Return what is to be answered, reasons first: property to JSON Schema."""

    @abstractmethod
    def scores(self, case: Case, part: str, answers: Mapping[str, Any]) -> Iterator[JudgedScore]:
        """Say what the answers mean, for each scorer that the part is about."""

    def schema(self, case: Case, part: str) -> dict[str, Any]:
        """Return the schema of the answer."""
        return schema_object(self.properties(case, part))

    def system_prompt(self, case: Case, part: str) -> str:
        """Return the instructions as they are sent."""
        text = self.instructions(part)
        if self.file.structured:
            return text
        form = json.dumps(self.schema(case, part), ensure_ascii=False)
        return (
            f"{text}\n\nAnswer with one JSON object and nothing else. It fits this schema:\n{form}"
        )

    def request(self, case: Case, output: Mapping[str, Any], part: str = ALL) -> dict[str, Any]:
        """Return the request about an output, as the Messages API takes it.

        What all cases share stands first, and ends at a mark for the prompt cache.

        Parameters
        ----------
        case : what the output is for
        output : a record of an outputs frame
        part : of `parts()`
        """
        system = self.system_prompt(case, part)
        return self._request(case, part, system, self.blocks(case, output))

    def _request(
        self, case: Case, part: str, system: str, blocks: Mapping[str, str]
    ) -> dict[str, Any]:
        code = code_of(system, *(text for item in blocks.items() for text in item))
        text = message(self.file.template or self.template, blocks, code)
        shared = {"type": "text", "text": system, "cache_control": {"type": "ephemeral"}}
        request: dict[str, Any] = {
            "model": self.model,
            "max_tokens": self.file.max_tokens,
            "system": [shared],
            "messages": [{"role": "user", "content": text}],
            **self.file.parameters,
        }
        if self.file.thinking is not None:
            request["thinking"] = {"type": self.file.thinking}
        config: dict[str, Any] = {}
        if self.file.effort != "none":
            config["effort"] = self.file.effort
        if self.file.structured:
            config["format"] = {"type": "json_schema", "schema": self.schema(case, part)}
        given = request.get("output_config")
        if config or given:
            request["output_config"] = {**(given if isinstance(given, dict) else {}), **config}
        return request

    @property
    def text(self) -> dict[str, Any]:
        """What a reason is to be, as JSON Schema."""
        most = self.file.max_reason_characters
        limit = {} if most is None else {"pattern": f'^[^"\\\\\n]{{1,{most}}}$'}
        return {"type": "string", **limit}

    @cached_property
    def fingerprint(self) -> str:
        """Hash of all that makes the judge what it is, 12 hex digits.

        That is its model, texts, axes and parameters, and how its answers are read; of a subclass
        its code and its own fields too, which need a `repr` that says all of them.
        """
        content = {
            "file": self.file.model_dump(mode="json", exclude={"model"}),
            "model": self.model,
            "instructions": [self.instructions(part) for part in self.parts()],
            "template": self.file.template or self.template,
            "source": "" if _is_of_the_package(type(self)) else made_of(type(self)),
            "parser": PARSER_VERSION,
            **self._own_fields(),
        }
        return fingerprint(json.dumps(content, sort_keys=True, default=repr))

    def _own_fields(self) -> dict[str, Any]:
        """Return what a subclass holds beside the fields of every judge."""
        shared = {item.name for item in fields(Judge)}
        own = {
            item.name: getattr(self, item.name)
            for item in fields(self)
            if item.name not in shared and item.compare
        }
        return {"fields": own} if own else {}


_SCORE = {"enum": list(range(_LOW, _HIGH + 1))}
_CRITERION = ("met", "not_met", "cannot_tell")


class RubricJudge(Judge):
    """Judges criteria one by one, then the whole on 1 to 5."""

    template = (
        "{conversation}\n\n{context}\n\n{criteria}\n\n{candidate}\n\n"
        "Judge the candidate by the criteria."
    )

    def applies_to(self, case: Case) -> bool:
        """Tell whether the case states a rubric, of its own or of a turn."""
        return bool(_criteria(case))

    def blocks(self, case: Case, output: Mapping[str, Any]) -> dict[str, str]:
        """Return what is shown, the criteria numbered."""
        lines = (f"{number}. {text}" for number, text in enumerate(_criteria(case), 1))
        return {**super().blocks(case, output), "criteria": "\n".join(lines)}

    def properties(self, case: Case, part: str) -> dict[str, Any]:
        """Ask for a reason and a verdict by criterion, then for a reason and a score."""
        criterion = schema_object({"reason": self.text, "verdict": {"enum": list(_CRITERION)}})
        return {
            **{f"criterion_{n}": criterion for n in range(1, len(_criteria(case)) + 1)},
            "reason": self.text,
            "score": _SCORE,
        }

    def scores(
        self,
        case: Case,
        part: str,
        answers: Mapping[str, Any],
    ) -> Iterator[JudgedScore]:
        """Give the score, and what criteria are not met."""
        criteria = _criteria(case)
        said = [answers[f"criterion_{n}"] for n in range(1, len(criteria) + 1)]
        lines = [
            f"{number}. {found['verdict']}: {found['reason']}"
            for number, found in enumerate(said, 1)
        ]
        unmet = [
            f"criterion {number} is not met: {text}"
            for number, (text, found) in enumerate(zip(criteria, said, strict=True), 1)
            if found["verdict"] == "not_met"
        ]
        reason = "\n".join([*lines, answers["reason"]])
        yield JudgedScore(self.file.kind, answers["score"], _LOW, _HIGH, reason, unmet)


class AxesJudge(Judge):
    """Judges on axes, each with a scale of its own."""

    @property
    def axes(self) -> tuple[Axis, ...]:
        """The axes of the file, by default those of the package."""
        return tuple(self.file.axes or package_axes().values())

    @property
    def scorers(self) -> tuple[str, ...]:
        """The names of the axes."""
        return tuple(axis.name for axis in self.axes)

    @property
    def scales(self) -> dict[str, tuple[int, int]]:
        """The lowest and the highest level of each axis."""
        return {axis.name: (axis.low, axis.high) for axis in self.axes}

    def applies_to(self, case: Case) -> bool:
        """Take every case."""
        return True

    def parts(self) -> tuple[str, ...]:
        """Return the axes where each has a call of its own."""
        return self.scorers if self.file.calls == "per_axis" else (ALL,)

    def instructions(self, part: str) -> str:
        """Return what all cases share, the axes with their levels last."""
        return "\n\n".join([super().instructions(part), *map(_axis_text, self._of(part))])

    def properties(self, case: Case, part: str) -> dict[str, Any]:
        """Ask for a reason and a level by axis."""
        return {
            axis.name: schema_object({"reason": self.text, "score": {"enum": list(axis.levels)}})
            for axis in self._of(part)
        }

    def scores(
        self,
        case: Case,
        part: str,
        answers: Mapping[str, Any],
    ) -> Iterator[JudgedScore]:
        """Give the level of each axis."""
        for axis in self._of(part):
            found = answers[axis.name]
            yield JudgedScore(axis.name, found["score"], axis.low, axis.high, found["reason"])

    def _of(self, part: str) -> list[Axis]:
        return [axis for axis in self.axes if part in (ALL, axis.name)]


class ReferenceJudge(Judge):
    """Judges by a known-good answer, on 1 to 5."""

    template = (
        "{conversation}\n\n{context}\n\n{reference}\n\n{candidate}\n\n"
        "Judge the candidate by the reference."
    )

    def applies_to(self, case: Case) -> bool:
        """Tell whether the case has a reference."""
        return case.reference is not None

    def blocks(self, case: Case, output: Mapping[str, Any]) -> dict[str, str]:
        """Return what is shown, the reference with it."""
        return {**super().blocks(case, output), "reference": case.reference or ""}

    def properties(self, case: Case, part: str) -> dict[str, Any]:
        """Ask for the differences, then for a reason and a score."""
        return {
            "differences": {"type": "array", "items": self.text},
            "reason": self.text,
            "score": _SCORE,
        }

    def scores(
        self,
        case: Case,
        part: str,
        answers: Mapping[str, Any],
    ) -> Iterator[JudgedScore]:
        """Give the score."""
        reason = "\n".join([*(f"- {entry}" for entry in answers["differences"]), answers["reason"]])
        yield JudgedScore(self.file.kind, answers["score"], _LOW, _HIGH, reason)


class FaithfulnessJudge(Judge):
    """Judges whether an answer keeps to its context, on 1 to 5."""

    def applies_to(self, case: Case) -> bool:
        """Tell whether the case gives passages."""
        return case.context is not None

    def properties(self, case: Case, part: str) -> dict[str, Any]:
        """Ask for what is not supported, then for a reason and a score."""
        return {
            "unsupported_claims": {"type": "array", "items": self.text},
            "reason": self.text,
            "score": _SCORE,
        }

    def scores(
        self,
        case: Case,
        part: str,
        answers: Mapping[str, Any],
    ) -> Iterator[JudgedScore]:
        """Give the score, and what is not supported."""
        claims = answers["unsupported_claims"]
        unmet = [f"not supported: {claim}" for claim in claims]
        reason = "\n".join([*(f"- not supported: {claim}" for claim in claims), answers["reason"]])
        yield JudgedScore(self.file.kind, answers["score"], _LOW, _HIGH, reason, unmet)


_KINDS: dict[str, type[Judge]] = {
    "rubric": RubricJudge,
    "axes": AxesJudge,
    "reference": ReferenceJudge,
    "faithfulness": FaithfulnessJudge,
}


def kind_of(file: JudgeFile) -> type[Judge]:
    """Return the class of a kind of judge that scores single outputs."""
    return _KINDS[file.kind]


def _is_of_the_package(kind: type[Judge]) -> bool:
    return kind.__module__.rpartition(".")[0] == __name__.rpartition(".")[0]


def _criteria(case: Case) -> list[str]:
    """Return what a rubric asks, that of the turns with their numbers."""
    own = list(case.rubric or ())
    return own + [
        f"Turn {number}: {text}"
        for number, turn in enumerate(case.turns or (), 1)
        for text in turn.rubric or ()
    ]


def _axis_text(axis: Axis) -> str:
    levels = "\n".join(
        f"- {number}: {text}" for number, text in sorted(axis.levels.items(), reverse=True)
    )
    return f"# Axis: {axis.name}\n\n{axis.question}\n\n{levels}"
