"""Golden sets: the reviewed cases of a suite, with the suite's settings."""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections import Counter
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from evalnb.cases import FIELDS, Case
from evalnb.errors import InputError, Problem, nearest_name
from evalnb.frames import CASES
from evalnb.jsontext import MAX_LINE_BYTES, Line, dump_json, read_lines, write_atomically

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    import pandas as pd

__all__ = [
    "GateSettings",
    "GoldenSet",
    "LiveSettings",
    "RetrievalSettings",
    "SuiteSettings",
    "find_suite",
    "read_golden",
    "read_toml",
    "write_golden",
]

# Checks of a case as a whole: the field that each is about, and what to do.
_WHOLE_CASE = {
    "history": ("messages", "Let the history end with what the user says."),
    "input": ("", "Keep the one that the system is given."),
    "keywords": ("min_keyword_ratio", "Add the words."),
    "primary": ("", "Keep the one that says best what is expected, or make two cases."),
}

Share = Annotated[float, Field(ge=0, le=1)]
Ratio = Annotated[float, Field(gt=0, allow_inf_nan=False)]


class GateSettings(BaseModel):
    """Thresholds of the gate, `[gate]` in `suite.toml`."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    margin: Share = 0.02
    """How far a mean may fall before it counts as drift."""
    na_budget: Share = 0.0
    """Share of the planned scores that may be missing by accident."""
    floors: dict[str, Share] = {}
    """Means under which a run is blocked: scorer, or `(case)` for the pass rate, to a mean."""
    max_output_tokens_ratio: Ratio = 1.2
    """How much longer than the baseline's the answers may be, in output tokens."""
    max_latency_ratio: Ratio = 1.2
    """How much slower than the baseline's live answers may be."""


class LiveSettings(BaseModel):
    """What a run that asks a model may take, `[live]` in `suite.toml`."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    timeout_s: Ratio = 120.0
    """How long one request may take, its retries not counted."""
    max_minutes: Ratio | None = None
    """After this no request is begun; what is left is NA `deadline`."""
    budget_usd: Ratio | None = None
    """What a run may cost; what is left is NA `budget`."""


class RetrievalSettings(BaseModel):
    """How retrieved passages are scored, `[retrieval]` in `suite.toml`."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    k: Annotated[int, Field(ge=1)] = 5
    """How many of the first passages count."""


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
    live: LiveSettings = LiveSettings()
    gate: GateSettings = GateSettings()

    @property
    def fingerprint(self) -> str:
        """Hash of the settings that are not the defaults, 12 hex digits."""
        text = json.dumps(self.model_dump(mode="json", exclude_defaults=True), sort_keys=True)
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
        lines = sorted(_content(case) for case in self.cases)
        return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:12]

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
    path : such as "golden/support"

    Raises
    ------
    InputError
        If there is none.
    """
    here = Path.cwd()
    for folder in (here, *here.parents):
        if (folder / path).exists():
            return folder / path
    raise InputError(f"there is no {path} here or in a folder above {here}")


def read_golden(path: str | Path) -> GoldenSet:
    """Read a golden set.

    Parameters
    ----------
    path : a suite's folder with `suite.toml` and `cases.jsonl`, or a JSONL file of cases

    Raises
    ------
    InputError
        With file, line, field and remedy of every problem found.
    """
    path = Path(path)
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
    path = Path(path)
    present = _raw_lines(path) if path.exists() else {}
    lines = [_line_of(case, present) for case in golden.cases]
    write_atomically(path, b"".join(line + b"\n" for line in lines))


def read_toml(path: Path, model: type[BaseModel], what: str) -> Any:
    """Read a TOML file into a model.

    Parameters
    ----------
    path : the file
    model : what it must hold
    what : what the file is, for messages

    Returns
    -------
    an instance of `model`

    Raises
    ------
    InputError
        If the file is missing, is not TOML, or does not fit the model.
    """
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"there is no {what} at {path}") from None
    except (OSError, ValueError, RecursionError) as error:
        problem = Problem(str(path), 0, "", f"cannot be read: {error}.", "See https://toml.io.")
        raise InputError(f"the {what} cannot be used", [problem]) from error
    try:
        return model.model_validate(content)
    except ValidationError as error:
        raise InputError(
            f"the {what} cannot be used", _problems(error, str(path), 0, model)
        ) from error


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
    try:
        lines, problems = read_lines(path)
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error}") from error
    cases: dict[int, Case] = {}
    for line in lines:
        case = _read_case(line, str(path))
        if isinstance(case, Case):
            cases[line.number] = case
        else:
            problems.extend(case)
    problems.extend(_duplicate_ids(lines, str(path)))
    if not lines and not problems:
        problems.append(Problem(str(path), 0, "", "holds no case.", "Add one case a line."))
    if problems:
        count = f"{len(problems)} problem" + ("s" if len(problems) > 1 else "")
        raise InputError(f"{path} cannot be used: {count}", sorted(problems))
    return tuple(cases.values())


def _read_case(line: Line, file: str) -> Case | list[Problem]:
    try:
        case = Case.model_validate(line.value)
    except ValidationError as error:
        return _problems(error, file, line.number, Case)
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


def _duplicate_ids(lines: Iterable[Line], file: str) -> list[Problem]:
    """Find ids that are there already; ids that differ in case alone are one file on some disks."""
    first: dict[str, int] = {}
    problems = []
    for line in lines:
        case_id = line.value.get("id")
        if not isinstance(case_id, str):
            continue
        earlier = first.setdefault(case_id.casefold(), line.number)
        if earlier != line.number:
            problems.append(
                Problem(
                    file,
                    line.number,
                    "id",
                    f"{case_id!r} is already the id of line {earlier} (upper and lower case count as one).",
                    "Give the case an id of its own.",
                )
            )
    return problems


def _problems(
    error: ValidationError, file: str, line: int, model: type[BaseModel]
) -> list[Problem]:
    return [
        _problem(entry, file, line, model)
        for entry in error.errors(include_url=False, include_context=False)
    ]


def _problem(entry: Mapping[str, Any], file: str, line: int, model: type[BaseModel]) -> Problem:
    location = entry["loc"]
    name = ".".join(str(part) for part in location)
    match entry["type"]:
        case "extra_forbidden":
            known = _known_names(model, location[:-1])
            near = nearest_name(str(location[-1]), known)
            remedy = f"Did you mean `{near}`?" if near else f"Known: {', '.join(known)}."
            return Problem(file, line, name, "is no known field.", remedy)
        case "missing":
            return Problem(file, line, name, "is missing.", "Add the field.")
        case _:
            message = entry["msg"].replace("Input should ", "must ", 1)
            if entry["type"] in _WHOLE_CASE:
                field_name, remedy = _WHOLE_CASE[entry["type"]]
                within = ".".join(filter(None, (name, field_name)))
                return Problem(file, line, within, f"{message}.", remedy)
            got = f"Got {_shown(entry['input'])}."
            return Problem(file, line, name, f"{message}. {got}", "Correct the value.")


def _known_names(model: type[BaseModel], location: Iterable[Any]) -> list[str]:
    """Return the field names of the model that stands at a location within `model`."""
    for part in location:
        if isinstance(part, str) and part in model.model_fields:
            model = _inner_model(model.model_fields[part].annotation) or model
    return list(FIELDS) if model is Case else list(model.model_fields)


def _inner_model(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((found for part in get_args(annotation) if (found := _inner_model(part))), None)


def _shown(value: Any) -> str:
    try:
        text = dump_json(value)
    except (TypeError, ValueError, RecursionError):  # a date or NaN of a TOML file
        text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."


def _holds(case: Case, name: str, wanted: Any) -> bool:
    value = getattr(case, name)
    allowed = wanted if isinstance(wanted, (list, tuple, set, frozenset)) else [wanted]
    if isinstance(value, list):
        return any(entry in allowed for entry in value)
    return value in allowed


def _raw_lines(path: Path) -> dict[str, tuple[bytes, str]]:
    """Return each line that holds a case, by id, with the content that it has when written."""
    lines, _ = read_lines(path)
    found = {}
    for line in lines:
        try:
            case = Case.model_validate(line.value)
        except ValidationError:
            continue
        found[case.id] = (line.raw, _content(case))
    return found


def _line_of(case: Case, present: Mapping[str, tuple[bytes, str]]) -> bytes:
    raw, content = present.get(case.id, (b"", ""))
    if content == _content(case):
        return raw
    line = dump_json(case.canonical()).encode()
    if len(line) > MAX_LINE_BYTES:
        raise ValueError(f"case {case.id} takes {len(line):,} of {MAX_LINE_BYTES:,} bytes")
    return line


def _content(case: Case) -> str:
    """Return what a case says, whatever the order of its fields; 1, 1.0 and true are three."""
    return json.dumps(case.canonical(), ensure_ascii=False, sort_keys=True)
