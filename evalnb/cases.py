"""One case of a golden set: an input with what is expected of the output."""

from __future__ import annotations

import re
from datetime import date
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, JsonValue, StringConstraints, model_validator
from pydantic.functional_validators import AfterValidator
from pydantic_core import PydanticCustomError

from evalnb.frames import CASES
from evalnb.matching import normalize
from evalnb.schemas import schema_validator

__all__ = [
    "EXPECTATIONS",
    "FIELDS",
    "Case",
    "ExpectedToolCall",
    "ExpectedToolCalls",
    "Limits",
    "Message",
    "MockedResult",
    "Passage",
    "Phrase",
    "Schema",
    "Turn",
]

EXPECTATIONS = (
    "expected_exact",
    "must_contain",
    "rubric",
    "expected_keywords",
    "must_not_include",
    "expected_intent",
    "expected_tool_calls",
    "expected_schema",
    "relevant_ids",
    "expect_refusal",
    "reference",
    "limits",
)
"""Fields that state what is expected of an output, in the order in which they are scored."""

_PRIMARY = ("expected_exact", "must_contain", "rubric")
_INPUTS = ("input", "messages", "turns")
# Names that Windows keeps for devices, whatever follows the first dot.
_RESERVED = re.compile(r"(?i)(con|prn|aux|nul|com\d|lpt\d)(\..*)?")


def _file_name(value: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,98}[A-Za-z0-9_-])?", value) or (
        _RESERVED.fullmatch(value)
    ):
        raise PydanticCustomError(
            "case_id",
            "must be able to be a file name: 1 to 100 of the characters A-Z a-z 0-9 . _ - , "
            "first a letter or digit, not ending in a dot, no device name such as `con`",
        )
    return value


def _iso_date(value: str) -> str:
    try:
        date.fromisoformat(value)
    except ValueError:
        raise PydanticCustomError("date", "must be a date such as 2026-05-31") from None
    return value


def _json_schema(value: dict[str, Any]) -> dict[str, Any]:
    try:
        schema_validator(value)
    except ValueError as error:
        raise PydanticCustomError(
            "json_schema", "must be a JSON Schema: {why}", {"why": str(error)}
        ) from None
    return value


def _regular_expressions(value: dict[str, str]) -> dict[str, str]:
    import regex

    for name, pattern in value.items():
        try:
            regex.compile(pattern)
        except (regex.error, RecursionError, OverflowError) as error:
            raise PydanticCustomError(
                "pattern",
                "holds no regular expression for `{name}`: {why}",
                {"name": name, "why": str(error)},
            ) from None
    return value


def _findable(value: str) -> str:
    if not normalize(value).strip():
        raise PydanticCustomError("phrase", "must hold more than spaces and unseen characters")
    return value


Text = Annotated[str, StringConstraints(min_length=1)]
Phrase = Annotated[Text, AfterValidator(_findable)]
"""Words that can be looked for in a text."""
Phrases = Annotated[list[Phrase], Field(min_length=1)]
CaseId = Annotated[str, AfterValidator(_file_name)]
IsoDate = Annotated[str, AfterValidator(_iso_date)]
Schema = Annotated[dict[str, JsonValue], AfterValidator(_json_schema)]
"""A JSON Schema that can be used."""
Patterns = Annotated[dict[str, str], AfterValidator(_regular_expressions)]
Texts = Annotated[list[Text], Field(min_length=1)]
Ratio = Annotated[float, Field(gt=0)]
Share = Annotated[float, Field(gt=0, le=1)]
PositiveInt = Annotated[int, Field(gt=0)]


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class Message(_Model):
    """One message of a fixed history."""

    role: Literal["user", "assistant"]
    content: str | list[dict[str, JsonValue]]
    """Text, or content blocks of the Messages API."""


class Passage(_Model):
    """A retrieved passage: untrusted text that the system and the judge are given."""

    id: Text | None = None
    text: Text


class MockedResult(_Model):
    """What a mocked tool gives back; the first whose `arguments` fit the call is taken."""

    arguments: dict[str, JsonValue] | None = None
    """Arguments that the call must have for this result; others may be there too."""
    result: JsonValue
    is_error: bool | None = None


class ExpectedToolCall(_Model):
    """One tool call that the system must make."""

    name: Text
    arguments: dict[str, JsonValue] | None = None
    """Arguments with their exact values."""
    patterns: Patterns | None = None
    """Arguments as regular expressions that must match the whole value."""
    match: Literal["exact", "subset"] | None = None
    """Whether arguments beyond those named are wrong (`exact`, the default) or fine (`subset`)."""


class ExpectedToolCalls(_Model):
    """The tool calls that the system must make; an empty list means none."""

    calls: list[ExpectedToolCall]
    order: Literal["exact", "in_order", "any_order"] | None = None
    """`exact` (the default): these and no others, in this order; `in_order`: these in this order,
    others may come between; `any_order`: these in any order, others may be there too."""


class Limits(_Model):
    """What an answer may take, absolutely or against the baseline."""

    max_latency_ms: Ratio | None = None
    max_output_tokens: PositiveInt | None = None
    max_latency_ratio: Ratio | None = None
    max_output_tokens_ratio: Ratio | None = None


class _Expectations(_Model):
    expected_exact: Text | None = None
    """The whole output, trimmed."""
    must_contain: Phrases | None = None
    """Facts that must all appear, whatever their case."""
    rubric: Texts | None = None
    """Criteria for a judge."""
    expected_keywords: Phrases | None = None
    """Words of which at least the share `min_keyword_ratio` must appear."""
    min_keyword_ratio: Share | None = None
    """Share of `expected_keywords` that must appear; 0.5 where it is not given."""
    must_not_include: Phrases | None = None
    """Words and phrases of which none may appear."""
    expected_intent: Text | None = None
    """The label that the system must return, where it classifies."""
    expected_tool_calls: ExpectedToolCalls | None = None
    """The tool calls that the system must make."""

    @model_validator(mode="after")
    def _check_expectations(self) -> Self:
        primary = [name for name in _PRIMARY if getattr(self, name) is not None]
        if len(primary) > 1:
            raise PydanticCustomError(
                "primary",
                "has {found}, but may have only one of {allowed}",
                {
                    "found": " and ".join(f"`{name}`" for name in primary),
                    "allowed": ", ".join(f"`{name}`" for name in _PRIMARY),
                },
            )
        if self.min_keyword_ratio is not None and self.expected_keywords is None:
            raise PydanticCustomError(
                "keywords", "has `min_keyword_ratio` without `expected_keywords`"
            )
        return self


class Turn(_Expectations):
    """One user message that is played against live replies, with what is expected of the reply."""

    input: Text


class Case(_Expectations):
    """One input with what is expected of the output.

    Field order is the order in which cases are written.
    """

    id: CaseId
    category: Text | None = None
    language: Text | None = None
    """BCP 47 tag, such as `en` or `de`."""
    tags: Texts | None = None
    """`common`, `edge`, `adversarial`, `refusal`, `incident` and others of the suite's own."""
    conversation_id: Text | None = None
    """What cases of one conversation share; together they count as one where chance is judged."""
    input: Text | None = None
    """One user message."""
    messages: Annotated[list[Message], Field(min_length=1)] | None = None
    """A fixed history that ends in a user message."""
    turns: Annotated[list[Turn], Field(min_length=1)] | None = None
    """User messages played one after another against live replies."""
    state: dict[str, JsonValue] | None = None
    """Fixed session state: date, user, locale and the like, never taken from the clock."""
    context: Annotated[list[Passage], Field(min_length=1)] | None = None
    """Retrieved passages, untrusted."""
    expected_schema: Schema | None = None
    """JSON Schema that a structured output must meet."""
    relevant_ids: Texts | None = None
    """Ids of the passages that retrieval should find."""
    expect_refusal: bool | None = None
    """Whether the right answer is to decline or hedge (True), or must not be (False)."""
    reference: Text | None = None
    """A known-good answer."""
    limits: Limits | None = None
    """What the answer may take."""
    tools: list[Text] | None = None
    """The tools offered, by name; all where it is not given, none where it is empty."""
    tools_mock: dict[str, Annotated[list[MockedResult], Field(min_length=1)]] | None = None
    """Scripted results by tool name, so that side effects are captured and never happen."""
    split: Literal["dev", "holdout"] | None = None
    """`dev` to tune against; at `holdout` only the gate and the monthly review look."""
    added: IsoDate | None = None
    source: Text | None = None
    reviewed_by: Text | None = None
    note: Text | None = None

    @model_validator(mode="after")
    def _check_input(self) -> Self:
        inputs = [name for name in _INPUTS if getattr(self, name) is not None]
        if len(inputs) != 1:
            raise PydanticCustomError(
                "input",
                "has {found}, but must have exactly one of {allowed}",
                {
                    "found": " and ".join(f"`{name}`" for name in inputs) or "no input",
                    "allowed": ", ".join(f"`{name}`" for name in _INPUTS),
                },
            )
        if self.messages is not None and self.messages[-1].role != "user":
            raise PydanticCustomError(
                "history",
                "has `messages` that end with the {role}: a history must end with a `user` message",
                {"role": self.messages[-1].role},
            )
        return self

    @property
    def expectations(self) -> tuple[str, ...]:
        """Names of the expectations that this case states, those of its turns included."""
        if self.turns is None:
            fields = vars(self)
            return tuple([name for name in EXPECTATIONS if fields[name] is not None])
        parts: list[_Expectations] = [self, *self.turns]
        return tuple(
            name
            for name in EXPECTATIONS
            if any(getattr(part, name, None) is not None for part in parts)
        )

    def conversation(self) -> list[dict[str, Any]]:
        """Return what was said so far as Messages API messages, the last one the user's.

        Examples
        --------
        >>> Case(id="a", input="Hello?", must_contain=["hello"]).conversation()
        [{'role': 'user', 'content': 'Hello?'}]
        """
        if self.messages is None:
            return [{"role": "user", "content": self.input or ""}]
        return [message.model_dump() for message in self.messages]

    def canonical(self) -> dict[str, Any]:
        """Return the fields that are given, in the order of the schema, as plain JSON values."""
        return {
            name: _plain(getattr(self, name)) for name in FIELDS if getattr(self, name) is not None
        }


def _plain(value: Any) -> Any:
    """Turn models into dicts without their empty fields; leave the nulls of plain JSON alone."""
    if isinstance(value, BaseModel):
        fields = type(value).model_fields
        return {
            name: _plain(getattr(value, name))
            for name, field in fields.items()
            if getattr(value, name) is not None or field.is_required()
        }
    if isinstance(value, list):
        return [_plain(entry) for entry in value]
    if isinstance(value, dict):
        return {name: _plain(entry) for name, entry in value.items()}
    return value


FIELDS = ("id", *(name for name in CASES.columns if name != "case_id"))
"""The fields of a case in the order in which they are written: that of the cases frame."""
