"""What a shard leaves behind: frames without a decision, and what they are of."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from pydantic_core import from_json, to_json

from evalnb.errors import InputError, Problem
from evalnb.frames import MISSES, OUTPUTS, PAIRS, SCORES, VERDICTS, to_records
from evalnb.judges import suite_judges
from evalnb.record_files import write_object, write_records
from evalnb.results import results_root
from evalnb.runs import Scored
from evalnb.scorers import scorers_fingerprint
from evalnb.shards import Shard, parse_shard

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    import pandas as pd

    from evalnb.frames import FrameSchema
    from evalnb.golden import GoldenSet

__all__ = ["SHARD", "WrittenShard", "made_of", "read_shard", "shards_root", "write_shard"]

SHARD = "shard.json"
"""Name of the file that says of what a shard is; it comes last."""

_FORMAT = 2
_SEAL = "seal"
_FRAMES: Mapping[str, FrameSchema] = {
    "outputs": OUTPUTS,
    "scores": SCORES,
    "verdicts": VERDICTS,
    "misses": MISSES,
    "pairs": PAIRS,
}
_RUN_AGAIN = "Run this shard again."


@dataclass(frozen=True)
class WrittenShard:
    """A shard that was read back.

    Attributes
    ----------
    folder : where it is
    shard : which one it is
    made_of : what the suite was, as `made_of` gives it
    scored : what was answered and scored
    """

    folder: Path
    shard: Shard
    made_of: Mapping[str, Any]
    scored: Scored


def shards_root(golden: GoldenSet, root: Path | None = None) -> Path:
    """Return where the shards of suites are kept, apart from the runs that came to a decision.

    Parameters
    ----------
    golden : the suite
    root : the results root; by default the suite's
    """
    return (root or results_root(golden)) / "_shards"


def made_of(golden: GoldenSet) -> dict[str, Any]:
    """Say of a suite what scores follow from: its name, versions and fingerprints.

    Raises
    ------
    InputError
        If a judge or scorer of the suite cannot be used.
    """
    return {
        "suite": golden.settings.name,
        "golden_version": golden.version,
        "settings_fingerprint": golden.settings.fingerprint,
        "scorers_fingerprint": scorers_fingerprint(golden),
        "judges": {judge.name: judge.fingerprint for judge in suite_judges(golden)},
        "evalnb": version("evalnb"),
    }


def write_shard(folder: Path, golden: GoldenSet, shard: Shard, scored: Scored) -> None:
    """Write what was scored of a shard.

    Parameters
    ----------
    folder : the shard's own
    golden : the whole suite
    shard : which part of it
    scored : what was answered and scored of that part
    """
    frames = {name: getattr(scored, name) for name in _FRAMES}
    held = [name for name, rows in frames.items() if rows is not None]
    for name in held:
        write_records(folder / f"{name}.jsonl", to_records(frames[name]))
    content = {
        "format": _FORMAT,
        "shard": str(shard),
        "made_of": made_of(golden),
        "about": dict(scored.about),
        "sha256": {name: _sha256((folder / f"{name}.jsonl").read_bytes()) for name in held},
        "unused_cassettes": list(scored.unused_cassettes),
        "without_requests": list(scored.without_requests),
    }
    write_object(folder / SHARD, {**content, _SEAL: _seal(content)})


def read_shard(folder: Path) -> WrittenShard:
    """Read a shard back from its folder.

    Raises
    ------
    InputError
        If it was not finished, or a file of it is damaged.
    """
    try:
        content = from_json((folder / SHARD).read_bytes())
    except FileNotFoundError:
        raise _unusable(folder, f"is no finished shard: it has no {SHARD}") from None
    except (OSError, ValueError) as error:
        raise _unusable(folder, f"cannot be read: {SHARD}: {error}") from error
    try:
        if content["format"] != _FORMAT:
            raise ValueError(f"{SHARD} is of another format")
        if content[_SEAL] != _seal(content):
            raise ValueError(f"{SHARD} was changed")
        sums = content["sha256"]
        frames = {name: _read_frame(folder, name, sums[name]) for name in sums}
        return WrittenShard(
            folder,
            parse_shard(content["shard"]),
            dict(content["made_of"]),
            Scored(
                dict(content["about"]),
                **frames,
                unused_cassettes=list(content["unused_cassettes"]),
                without_requests=list(content["without_requests"]),
            ),
        )
    except (OSError, LookupError, TypeError, ValueError, InputError) as error:
        raise _unusable(folder, f"is damaged: {error}") from error


def _seal(content: Mapping[str, Any]) -> str:
    """Return the hash of all else that `shard.json` says."""
    kept = {name: value for name, value in content.items() if name != _SEAL}
    # By way of the file's own form, in which a date is a text.
    return _sha256(to_json(from_json(to_json(kept, inf_nan_mode="constants"))))


def _read_frame(folder: Path, name: str, sha256: str) -> pd.DataFrame:
    lines = (folder / f"{name}.jsonl").read_bytes()
    if _sha256(lines) != sha256:
        raise ValueError(f"{name}.jsonl was changed or cut off")
    return _FRAMES[name].build(map(from_json, lines.splitlines()))


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _unusable(folder: Path, what: str) -> InputError:
    problem = Problem(str(folder), 0, "", f"{what}.", _RUN_AGAIN)
    return InputError("the shard cannot be used", [problem])
