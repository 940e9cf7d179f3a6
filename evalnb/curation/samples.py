"""Samples for rating on disk, `labels/samples/<sample>.jsonl`: ids and hashes, no texts."""

from __future__ import annotations

import hashlib
import re
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from evalnb.curation.labels import labels_folder
from evalnb.curation.sampling import SAMPLES, Sample
from evalnb.errors import InputError, Problem, name_hint
from evalnb.frames import to_records
from evalnb.jsontext import dump_json, read_lines, write_atomically

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd

    from evalnb.golden import GoldenSet

__all__ = [
    "describe_sample",
    "read_sample",
    "sample_id",
    "sample_text",
    "samples_of",
    "write_sample",
]

_HEAD = tuple(field.name for field in fields(Sample) if field.name != "drawn")
_ID = re.compile(r"[a-z][a-z0-9_-]{0,79}")
_ADVICE = (
    (20, "fewer than 20 labels say little, of a judge or of anything else"),
    (50, "20 labels find a bad judge, they rarely prove a good one: 50 are the working minimum"),
    (100, "50 labels are the working minimum, 100 the recommendation"),
    (200, "100 labels are the recommendation for levels; pass or fail takes 200"),
)


def sample_text(sample: Sample) -> str:
    """Return a sample as its file has it: how it was drawn, then an output a line."""
    head = {name: getattr(sample, name) for name in _HEAD}
    head = {name: value for name, value in head.items() if value is not None}
    return "".join(f"{dump_json(line)}\n" for line in [head, *to_records(sample.drawn)])


def sample_id(sample: Sample) -> str:
    """Return what a sample is called: the same draw is called the same."""
    digest = hashlib.sha256(sample_text(sample).encode()).hexdigest()[:8]
    return f"{sample.by.replace('_', '-')}-{sample.n}-{digest}"


def write_sample(golden: GoldenSet, sample: Sample) -> Path:
    """Write a sample into the suite's `labels/samples`, and return its file.

    Raises
    ------
    InputError
        If the suite cannot have labels.
    """
    path = _folder(golden) / f"{sample_id(sample)}.jsonl"
    write_atomically(path, sample_text(sample).encode())
    return path


def read_sample(golden: GoldenSet, name: str) -> Sample:
    """Read a sample back.

    Parameters
    ----------
    golden : the suite
    name : what `sample_id` says, the file's name without its ending

    Raises
    ------
    InputError
        If there is none, or its file is damaged.
    """
    folder = _folder(golden)
    path = folder / f"{name}.jsonl"
    if not _ID.fullmatch(name) or not path.is_file():
        known = sorted(found.stem for found in folder.glob("*.jsonl"))
        hint = name_hint(name, known)
        raise InputError(f"there is no sample {name!r} of {golden.settings.name}. {hint}")
    lines, problems = read_lines(path)
    if problems:
        raise InputError("the sample cannot be used", problems)
    head: dict[str, Any] = lines[0].value if lines else {}
    given = {"run_id": None, "scorer": None, **head}
    try:
        return Sample(drawn=SAMPLES.build(line.value for line in lines[1:]), **given)
    except (TypeError, ValueError) as error:
        remedy = "Restore it from git, or draw it again."
        problem = Problem(str(path), 0, "", f"cannot be read: {error}.", remedy)
        raise InputError("the sample cannot be used", [problem]) from error


def samples_of(golden: GoldenSet, labels: pd.DataFrame) -> dict[str, Sample]:
    """Read the samples that labels were drawn in, by name.

    Raises
    ------
    InputError
        If one is gone or damaged.
    """
    names = labels["sample"].dropna().unique()
    return {str(name): _sample_of_labels(golden, str(name)) for name in names}


def _sample_of_labels(golden: GoldenSet, name: str) -> Sample:
    try:
        return read_sample(golden, name)
    except InputError as error:
        raise InputError(
            f"labels name the sample {name!r}, which cannot be used. Restore "
            f"{_folder(golden) / f'{name}.jsonl'} from git, or take the name out of the labels: "
            f"they correct nothing then. {error}"
        ) from error


def describe_sample(sample: Sample) -> list[str]:
    """Say what was drawn, what was left out, and how far so many labels go."""
    what = {
        "random": "drawn at random",
        "judge_score": f"drawn by the levels of {sample.scorer}",
        "audit": f"to correct {sample.scorer} by",
    }[sample.by]
    whole = sum(sample.strata.values())
    lines = [f"{sample.n:,} of {whole:,} outputs, {what}, seed {sample.seed}"]
    counts = sample.drawn["stratum"].value_counts()
    if sample.by == "audit":
        lines.append(
            f"  besides {sample.n_labelled or 0:,} labels that there are: more where a level is "
            "common and people contradict it"
        )
    if sample.by != "random":
        lines += [
            f"  level {name}: {counts.get(name, 0):,} of {size:,}, each with the chance "
            f"{counts.get(name, 0) / size:.3f}"
            for name, size in sample.strata.items()
        ]
    else:
        lines += [f"  each had the chance {sample.n / whole:.3f} of being drawn"]
    left_out = (
        (sample.n_missing, "without an answer"),
        (sample.n_equal, "equal to another answer of the case"),
        (sample.n_unscored, f"without a score of {sample.scorer}"),
    )
    lines += [f"  left out: {count:,} {why}" for count, why in left_out if count]
    return [*lines, f"  {_advice(sample.n + (sample.n_labelled or 0))}"]


def _advice(n: int) -> str:
    said = next((text for bound, text in _ADVICE if n < bound), None)
    return f"{said or '200 labels and more are enough for pass or fail, too'} (an axis)"


def _folder(golden: GoldenSet) -> Path:
    return labels_folder(golden) / "samples"
