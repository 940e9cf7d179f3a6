"""Golden sets: the reviewed cases of a suite, with the suite's settings."""

from __future__ import annotations

import gc
import hashlib
import json
import re
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import date
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    field_validator,
    model_validator,
)
from pydantic_core import PydanticCustomError, to_json

from evalnb.cases import FIELDS, Case, Phrase, Schema
from evalnb.errors import InputError, Problem, nearest_name
from evalnb.frames import CASES
from evalnb.jsontext import MAX_LINE_BYTES, Line, dump_json, each_line, write_atomically
from evalnb.names import DEFAULT_JUDGE_MODEL
from evalnb.places import is_remote, place
from evalnb.tomltext import read_toml
from evalnb.validation import validation_problems

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    import pandas as pd

__all__ = [
    "GateSettings",
    "GoldenSet",
    "JudgingSettings",
    "LiveSettings",
    "ProbeSettings",
    "ProductionSettings",
    "RedactionSettings",
    "RetrievalSettings",
    "SuiteSettings",
    "case_content",
    "case_of",
    "find_suite",
    "read_golden",
    "version_of",
    "write_golden",
]

Share = Annotated[float, Field(ge=0, le=1)]
Ratio = Annotated[float, Field(gt=0, allow_inf_nan=False)]


class GateSettings(BaseModel):
    """Thresholds of the gate, `[gate]` in `suite.toml`."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    margin: Share = 0.02
    """How far a mean may fall before it counts as drift."""
    strict: bool = False
    """Whether a live run passes only where it is shown that no mean fell by the margin."""
    na_budget: Share = 0.0
    """Share of the planned scores that may be missing by accident."""
    floors: dict[str, Share] = {}
    """Means under which a run is blocked: scorer, or `(case)` for the pass rate, to a mean."""
    max_output_tokens_ratio: Ratio = 1.2
    """How much longer than the baseline's the answers may be, in output tokens."""
    max_latency_ratio: Ratio = 1.2
    """How much slower than the baseline's live answers may be."""
    max_cost_ratio: Ratio | None = None
    """How much dearer than the baseline's the answers may be; None for no limit."""
    max_injection_rate: Share | None = None
    """Where more attacks than this make a judge pass a bad answer, an axis does not count."""
    max_conflict_rate: Share | None = None
    """The same where more pairs than this get another verdict in the other order."""
    pairwise: Annotated[str, Field(min_length=1)] | None = None
    """The judge of pairs that holds each answer against the baseline's, in a suite whose answers
    have no score of their own: the package's, `pairwise`, or a file in the suite's `judges`."""
    shadow_until: date | None = None
    """Up to this day what blocks is reported only, unsafe answers excepted."""


class LiveSettings(BaseModel):
    """What a run that asks a model may take, `[live]` in `suite.toml`."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    timeout_s: Ratio = 120.0
    """How long one request may take, its retries not counted."""
    max_minutes: Ratio | None = None
    """After this no request is begun; what is left is NA `deadline`."""
    budget_usd: Ratio | None = None
    """What a run may cost; what is left is NA `budget`."""
    stop_early: bool = False
    """Whether a run by the rules alone stops once it is certain that the pass rate fell; what is left
    is NA `curtailed`."""


class JudgingSettings(BaseModel):
    """Who judges what, and what passes, `[judging]` in `suite.toml`."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    judges: list[str] = ["rubric", "reference"]
    """Judges of the package by name, files in the suite's `judges`, or import paths."""
    model: Annotated[str, Field(min_length=1)] = DEFAULT_JUDGE_MODEL
    """What is asked where a judge's file names no model."""
    pass_score: float = 4.0
    """From this score on an output passes."""
    pass_scores: dict[str, float] = {}
    """The same for one scorer, such as an axis: scorer to score."""
    unmet_fails: bool = True
    """Whether a criterion that is not met, or a claim that is not supported, fails an output."""
    always: list[str] = []
    """Tags of cases that are judged even where a rule failed them."""
    repeats: Annotated[int, Field(ge=1, le=100)] = 1
    """How often each verdict is asked for."""
    transport: Literal["messages", "batch"] = "messages"
    """How a live run asks: one by one, or in batches, which cost half and take up to a day."""


class ProbeSettings(BaseModel):
    """How the judges are probed for bias, `[probes]` in `suite.toml`."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    cases: list[str] = []
    """Cases whose answers are varied; by default all whose answers can be."""
    repeats: Annotated[int, Field(ge=2, le=100)] = 2
    """How often what is unchanged is judged: the judge's own noise shows in it."""
    judges: list[str] = []
    """Which judges of answers; by default those that the suite asks."""
    pairwise: str = "pairwise"
    """The judge of pairs: the package's own, or a file in the suite's `judges`."""
    own: list[str] = []
    """Import paths of the suite's own probes, such as `my_probes:tone`."""


class RetrievalSettings(BaseModel):
    """How retrieved passages are scored, `[retrieval]` in `suite.toml`."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    k: Annotated[int, Field(ge=1)] = 5
    """How many of the first passages count."""


class RedactionSettings(BaseModel):
    """What else must not be seen in logs, `[redaction]` in `suite.toml`."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    patterns: dict[
        Annotated[str, Field(pattern=r"^[A-Z][A-Z0-9_]{0,40}$")],
        Annotated[str, Field(min_length=1)],
    ] = {}
    """Kind to regular expression, such as `ORDER = 'B-[0-9]{6}'`: a match becomes `<ORDER_1>`."""

    @field_validator("patterns")
    @classmethod
    def _check_patterns(cls, patterns: dict[str, str]) -> dict[str, str]:
        for kind, pattern in patterns.items():
            try:
                re.compile(pattern)
            except re.error as error:
                raise ValueError(f"{kind} is no regular expression: {error}") from error
        return patterns


class ProductionSettings(BaseModel):
    """What every answer in production must be, `[production]` in `suite.toml`."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    must_not_include: list[Phrase] = []
    """Words and phrases of which no answer may hold any."""
    expected_schema: Schema | None = None
    """JSON Schema that every answer must meet."""
    max_latency_ms: Ratio | None = None
    """How long an answer may take."""
    max_output_tokens: Annotated[int, Field(gt=0)] | None = None
    """How many tokens an answer may have."""
    max_characters: Annotated[int, Field(gt=0)] | None = None
    """How long the text of an answer may be."""
    languages: list[Annotated[str, Field(min_length=2)]] = []
    """Languages that may be answered in; by default the one that was asked in."""


class SuiteSettings(BaseModel):
    """The settings of a suite, `suite.toml`."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$")] = "cases"
    """What the suite is called in results and reports; a folder name."""
    description: str = ""
    privacy: Literal["public"] = "public"
    """Whether cases and answers may be shown whole; `confidential` is not supported yet."""
    system: str = "systems/v1.toml"
    """The system under test: a prompt file of the suite, the import path of a Python function
    such as `my_app.bot:answer`, or the URL of an HTTP endpoint."""
    system_files: list[str] = []
    """Further files that make the system what it is, as patterns from the suite's folder."""
    red_team: bool = False
    """Whether one failure is an emergency, whatever the means say."""
    matching: Literal["words", "substrings"] = "words"
    """Whether keywords must stand as whole words, where a script has words."""
    repeats: Annotated[int, Field(ge=1, le=1000)] = 1
    passes_needed: Annotated[int, Field(ge=1, le=1000)] | None = None
    """How many repeats of a case must pass for it to pass; all by default."""
    slices: list[Literal["category", "language", "tags", "split"]] = [
        "category",
        "language",
        "tags",
        "split",
    ]
    scorers: dict[str, str] = {}
    """Scorers of the suite's own: name to import path, such as `my_scorers:polite`."""
    refusal_phrases: list[str] = []
    """Words by which this product declines, beside the package's own."""
    retrieval: RetrievalSettings = RetrievalSettings()
    judging: JudgingSettings = JudgingSettings()
    probes: ProbeSettings = ProbeSettings()
    live: LiveSettings = LiveSettings()
    gate: GateSettings = GateSettings()
    redaction: RedactionSettings = RedactionSettings()
    production: ProductionSettings = ProductionSettings()

    @model_validator(mode="after")
    def _check_passes(self) -> Self:
        if self.passes_needed is not None and self.passes_needed > self.repeats:
            raise PydanticCustomError(
                "passes_needed",
                "has `passes_needed` = {needed}, more than `repeats` = {repeats}",
                {"needed": self.passes_needed, "repeats": self.repeats},
            )
        return self

    @property
    def fingerprint(self) -> str:
        """Hash of the settings that are not the defaults, 12 hex digits.

        Probes and what is asked of production are left out: no case's score follows from them.
        """
        left_out = {"probes", "production"}
        given = self.model_dump(mode="json", exclude_defaults=True, exclude=left_out)
        text = json.dumps(given, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:12]


@dataclass(frozen=True)
class GoldenSet:
    """The reviewed cases of a suite; operations return new sets.

    Attributes
    ----------
    cases : in file order
    settings : what `suite.toml` says
    folder : the suite's folder, None for a bare JSONL file
    """

    cases: tuple[Case, ...]
    settings: SuiteSettings = field(default_factory=SuiteSettings)
    folder: Path | None = None

    def __post_init__(self) -> None:
        counts = Counter(case.id.casefold() for case in self.cases)
        twice = sorted(case.id for case in self.cases if counts[case.id.casefold()] > 1)
        if twice:
            raise ValueError(
                "case ids must be unique, upper and lower case counting as one. "
                f"Got twice: {', '.join(dict.fromkeys(twice))}."
            )

    def __len__(self) -> int:
        return len(self.cases)

    def __iter__(self) -> Iterator[Case]:
        return iter(self.cases)

    def __contains__(self, case_id: object) -> bool:
        return case_id in self._by_id

    def __getitem__(self, case_id: str) -> Case:
        try:
            return self._by_id[case_id]
        except KeyError:
            near = nearest_name(case_id, list(self._by_id))
            hint = f" Did you mean {near!r}?" if near else ""
            raise KeyError(f"no case {case_id!r} in {self.settings.name}.{hint}") from None

    @cached_property
    def _by_id(self) -> dict[str, Case]:
        return {case.id: case for case in self.cases}

    @cached_property
    def version(self) -> str:
        """Hash of the content of all cases, 12 hex digits; order and formatting do not matter."""
        return version_of(map(case_content, self.cases))

    def frame(self) -> pd.DataFrame:
        """Return the cases frame."""
        rows = [case.canonical() for case in self.cases]
        return CASES.build({"case_id": row.pop("id")} | row for row in rows)

    def filter(self, **values: Any) -> GoldenSet:
        """Keep the cases whose fields have the given values.

        Parameters
        ----------
        **values : field to a value, or to a list of values of which one must hold
            For a field that is a list (`tags`), a value holds when the list contains it. None
            selects the cases that do not give the field.

        Raises
        ------
        ValueError
            If a field is unknown.
        """
        for name in values:
            if name not in FIELDS:
                near = nearest_name(name, FIELDS)
                hint = f" Did you mean `{near}`?" if near else f" Known: {', '.join(FIELDS)}."
                raise ValueError(f"a case has no field `{name}`.{hint}")
        kept = (case for case in self.cases if all(_holds(case, *item) for item in values.items()))
        return replace(self, cases=tuple(kept))

    def slice(self, start: int | None = None, stop: int | None = None) -> GoldenSet:
        """Keep the cases from position `start` up to and without `stop`, counted from 0."""
        return replace(self, cases=self.cases[start:stop])

    def add(self, cases: Iterable[Case]) -> GoldenSet:
        """Append cases with new ids.

        Raises
        ------
        ValueError
            If an id is already there.
        """
        return replace(self, cases=(*self.cases, *cases))

    def remove(self, case_ids: Iterable[str]) -> GoldenSet:
        """Leave out the cases with these ids.

        Raises
        ------
        KeyError
            If an id is not there.
        """
        gone = {self[case_id].id for case_id in case_ids}
        return replace(self, cases=tuple(case for case in self.cases if case.id not in gone))

    def replace(self, cases: Iterable[Case]) -> GoldenSet:
        """Put cases in the place of those with the same ids.

        Raises
        ------
        KeyError
            If an id is not there.
        """
        new = {case.id: case for case in cases}
        for case_id in new:
            self[case_id]
        return replace(self, cases=tuple(new.get(case.id, case) for case in self.cases))


def find_suite(path: str | Path) -> Path:
    """Return a suite's folder, looked for from here and from every folder above.

    A notebook runs in its own folder; `golden/support` means the same there as at the top.

    Parameters
    ----------
    path : such as "golden/support", or a URL, which means the same from everywhere

    Raises
    ------
    InputError
        If there is none.
    """
    found = place(path)
    if is_remote(found):
        if not found.exists():
            raise InputError(f"there is no {path}")
        return found
    here = Path.cwd()
    for folder in (here, *here.parents):
        if (folder / found).exists():
            return folder / found
    raise InputError(f"there is no {path} here or in a folder above {here}")


def read_golden(path: str | Path) -> GoldenSet:
    """Read a golden set.

    Parameters
    ----------
    path : a suite's folder with `suite.toml` and `cases.jsonl`, or a JSONL file of cases;
        either may be at the URL of a store that fsspec knows

    Raises
    ------
    InputError
        With file, line, field and remedy of every problem found.
    """
    path = place(path)
    if path.is_dir():
        settings = _read_settings(path / "suite.toml")
        return GoldenSet(_read_cases(path / "cases.jsonl"), settings, path)
    return GoldenSet(_read_cases(path))


def write_golden(golden: GoldenSet, path: str | Path | None = None) -> None:
    """Write the cases, one a line, as a whole or not at all.

    Lines whose case did not change stay as they are, to the byte.

    Parameters
    ----------
    golden : the cases to write, in order
    path : a JSONL file; by default `cases.jsonl` of the set's folder

    Raises
    ------
    ValueError
        If neither the set nor the argument says where, or a case cannot be written: it is longer
        than a line may be, or holds what JSON cannot (NaN, half a surrogate pair).
    """
    if path is None:
        if golden.folder is None:
            raise ValueError("this golden set has no folder: say with `path` where to write it")
        path = golden.folder / "cases.jsonl"
    path = place(path)
    present = _raw_lines(path) if path.exists() else {}
    lines = [_line_of(case, present) for case in golden.cases]
    write_atomically(path, b"".join(line + b"\n" for line in lines))


def _read_settings(path: Path) -> SuiteSettings:
    if not path.exists():
        raise InputError(
            f"{path.parent} is no suite: it has no suite.toml. Give a suite's folder or a JSONL file."
        )
    settings: SuiteSettings = read_toml(path, SuiteSettings, "suite's settings")
    return settings


def _read_cases(path: Path) -> tuple[Case, ...]:
    if not path.is_file():
        raise InputError(f"there are no cases at {path}. Give a suite's folder or a JSONL file.")
    cases: list[Case] = []
    problems: list[Problem] = []
    lines_of_ids: dict[str, int] = {}
    try:
        with _collector_at_rest():
            for line in each_line(path):
                if isinstance(line, Problem):
                    problems.append(line)
                    continue
                problems.extend(_taken_id(line, str(path), lines_of_ids))
                case = case_of(line, str(path))
                if isinstance(case, Case):
                    cases.append(case)
                else:
                    problems.extend(case)
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error}") from error
    if not cases and not problems:
        problems.append(Problem(str(path), 0, "", "holds no case.", "Add one case a line."))
    if problems:
        count = f"{len(problems)} problem" + ("s" if len(problems) > 1 else "")
        raise InputError(f"{path} cannot be used: {count}", sorted(problems))
    return tuple(cases)


@contextmanager
def _collector_at_rest() -> Iterator[None]:
    """Keep the garbage collector from looking through cases of which none is garbage."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def case_of(line: Line, file: str) -> Case | list[Problem]:
    """Return the case of a line, or what is wrong with it; `file` is named in problems."""
    try:
        case = Case.model_validate(line.value)
    except ValidationError as error:
        return validation_problems(error, file, line.number, Case, FIELDS)
    if not case.expectations:
        return [
            Problem(
                file,
                line.number,
                "",
                f"case `{case.id}` states no expectation, so nothing can fail.",
                "Add `expected_exact`, `must_contain`, `rubric` or another expectation.",
            )
        ]
    return case


def _taken_id(line: Line, file: str, lines_of_ids: dict[str, int]) -> Iterable[Problem]:
    """Say when an id is there already; ids that differ in case alone are one file on some disks."""
    case_id = line.value.get("id")
    if not isinstance(case_id, str):
        return
    earlier = lines_of_ids.setdefault(case_id.casefold(), line.number)
    if earlier != line.number:
        yield Problem(
            file,
            line.number,
            "id",
            f"{case_id!r} is already the id of line {earlier} (upper and lower case count as one).",
            "Give the case an id of its own.",
        )


def _holds(case: Case, name: str, wanted: Any) -> bool:
    value = getattr(case, name)
    allowed = wanted if isinstance(wanted, (list, tuple, set, frozenset)) else [wanted]
    if isinstance(value, list):
        return any(entry in allowed for entry in value)
    return value in allowed


def _raw_lines(path: Path) -> dict[str, tuple[bytes, str]]:
    """Return each line that holds a case, by id, with the content that it has when written."""
    found = {}
    for line in each_line(path):
        if isinstance(line, Problem):
            continue
        try:
            case = Case.model_validate(line.value)
        except ValidationError:
            continue
        found[case.id] = (line.raw, case_content(case))
    return found


def _line_of(case: Case, present: Mapping[str, tuple[bytes, str]]) -> bytes:
    raw, content = present.get(case.id, (b"", ""))
    if content == case_content(case):
        return raw
    line = dump_json(case.canonical()).encode()
    if len(line) > MAX_LINE_BYTES:
        raise ValueError(f"case {case.id} takes {len(line):,} of {MAX_LINE_BYTES:,} bytes")
    return line


def version_of(contents: Iterable[str]) -> str:
    """Return the hash of what the cases of a set say, 12 hex digits."""
    return hashlib.sha256("\n".join(sorted(contents)).encode()).hexdigest()[:12]


def case_content(case: Case) -> str:
    """Return what a case says, whatever the order of its fields; 1, 1.0 and true are three.

    It is the sorted JSON of `Case.canonical`.
    """
    fields = vars(case)
    members = [
        f'"{name}": {_sorted_json(value)}'
        for name in _SORTED_FIELDS
        if (value := fields[name]) is not None
    ]
    return f"{{{', '.join(members)}}}"


def _sorted_json(value: Any) -> str:
    if type(value) is str:  # most of what a case is; several times faster for the same
        return to_json(value).decode()
    return _SORTED.encode(value)


def _given(part: Any) -> dict[str, Any]:
    """Return the fields of a part of a case without the empty ones."""
    if not isinstance(part, BaseModel):
        raise TypeError(f"a case holds JSON values. Got {type(part).__name__}.")
    return {
        name: value
        for name, field in type(part).model_fields.items()
        if (value := getattr(part, name)) is not None or field.is_required()
    }


_SORTED = json.JSONEncoder(ensure_ascii=False, sort_keys=True, default=_given)
_SORTED_FIELDS = sorted(FIELDS)
