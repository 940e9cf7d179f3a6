"""Opening a curation session: which candidates, from which logs, into whose file."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

from evalnb.curation.candidates.files import read_candidates
from evalnb.curation.candidates.folding import fold_duplicates
from evalnb.curation.candidates.picks import merge_candidates
from evalnb.curation.candidates.strata import sample_categories
from evalnb.curation.candidates.struggling import find_struggling
from evalnb.curation.candidates.surprising import find_surprising
from evalnb.curation.candidates.uniform import sample_uniform
from evalnb.curation.coverage import MOST_COMPARED, describe_coverage, golden_coverage
from evalnb.curation.logs.reading import DAMAGED_FILE, read_logs
from evalnb.curation.mix import describe_mix, traffic_mix
from evalnb.curation.redaction.redacting import describe_redaction, redact
from evalnb.curation.redaction.redactor import redactor_of
from evalnb.curation.staging.curating import Curating
from evalnb.curation.staging.files import staged_path
from evalnb.curation.staging.items import items_to_curate
from evalnb.datasets.taubench import TAUBENCH, TAUBENCH_NOTE
from evalnb.places import place, shown_from_here
from evalnb.reports.numbers import count
from evalnb.reports.text import visible
from evalnb.results import results_root

if TYPE_CHECKING:
    import pandas as pd

    from evalnb.golden import GoldenSet

__all__ = [
    "TAUBENCH",
    "TAUBENCH_NOTE",
    "Picked",
    "describe_curating",
    "describe_gaps",
    "open_curating",
    "pick_candidates",
]


@dataclass(frozen=True)
class Picked:
    """Candidates with their conversations.

    Attributes
    ----------
    candidates : a frame of candidates, near-duplicates left out
    logs : a redacted logs frame, in which the candidates are
    source : where the logs come from, in words
    notes : what was read, replaced and left out, a line each
    is_traffic : whether `logs` are traffic as it came, and not picked themselves
    """

    candidates: pd.DataFrame
    logs: pd.DataFrame
    source: str
    notes: list[str]
    is_traffic: bool = True


def pick_candidates(
    golden: GoldenSet, logs: str = TAUBENCH, *, n: int = 5, rate: float = 1.0, seed: int = 0
) -> Picked:
    """Read logs, redact them, and pick what is worth a look.

    What cannot be read is kept beside the suite's results, `damaged_logs.jsonl`.

    Parameters
    ----------
    golden : the suite, whose patterns are redacted too
    logs : files as `read_logs` takes them; `taubench-airline`, which comes with evalnb; or a folder
        that `evalnb golden draft` or `evalnb score-logs` wrote, whose candidates are taken
    n : of each: struggling, surprising and of each category, and drawn at random
    rate : the share of conversations to read
    seed : another one is another draw

    Raises
    ------
    InputError
        If the logs cannot be read.
    """
    redactor = redactor_of(golden)
    folder = place(logs) if logs != TAUBENCH else None
    if folder is not None and (folder / "candidates.jsonl").is_file():
        found = read_candidates(folder)
        n_found = count(len(found.candidates), "candidate")
        said = redact(found.logs, redactor).logs
        named = dict(zip(found.logs["conversation_id"], said["conversation_id"], strict=True))
        candidates = found.candidates.replace({"conversation_id": named})
        source = f"candidates of {folder.name}"
        return Picked(candidates, said, source, [n_found], is_traffic=False)
    damaged = results_root(golden) / DAMAGED_FILE.name
    read = read_logs(logs, rate=rate, seed=seed, damaged=damaged, redactor=redactor)
    redaction = redact(read, redactor)
    said = redaction.logs
    picks = [
        find_struggling(said, n=n, seed=seed),
        find_surprising(said, golden, n=n),
        sample_categories(said, n=n, top=n, seed=seed),
        sample_uniform(said, rate=1.0, seed=seed).head(n),
    ]
    folding = fold_duplicates(merge_candidates(*picks), said, golden)
    notes = [
        f"{count(said['conversation_id'].nunique(), 'conversation')} read",
        *([TAUBENCH_NOTE] if folder is None else []),
        *describe_redaction(redaction),
        f"{count(len(folding.folded), 'near-duplicate')} left out",
    ]
    source = "tau-bench airline, public" if folder is None else f"production log {folder.name}"
    return Picked(folding.candidates.drop(columns="n_like_it"), said, source, notes)


def open_curating(golden: GoldenSet, curator: str, picked: Picked) -> Curating:
    """Open a curator's session over candidates.

    Parameters
    ----------
    golden : the suite that cases are staged for, in its `staged/<curator>.jsonl`
    curator : who curates; becomes the file's name
    picked : as `pick_candidates` gives it

    Raises
    ------
    InputError
        If the curator's name cannot be a file's, the suite is no folder of this machine, or the
        file cannot be read.
    """
    items = items_to_curate(golden, picked.candidates, picked.logs, source=picked.source)
    return Curating(items, staged_path(golden, curator))


def describe_gaps(golden: GoldenSet, picked: Picked, *, seed: int = 0) -> list[str]:
    """Say in words which kinds of traffic the golden set lacks, and how its mix differs.

    Parameters
    ----------
    golden : the suite
    picked : as `pick_candidates` gives it; of more than 5,000 conversations 5,000 are drawn
    seed : of the draw, of clusters and of resampling
    """
    if not picked.is_traffic:
        return ["these were picked for what they are: what traffic looks like, they do not say"]
    drawn = sample_uniform(picked.logs, rate=1.0, seed=seed).head(MOST_COMPARED)
    names = drawn["conversation_id"]
    logs = picked.logs[picked.logs["conversation_id"].isin(names)].reset_index(drop=True)
    mixes = [traffic_mix(logs, golden, by=by, seed=seed) for by in ("category", "language")]
    lines = describe_coverage(golden_coverage(logs, golden, seed=seed))
    return [visible(line) for line in [*lines, *chain.from_iterable(map(describe_mix, mixes))]]


def describe_curating(curating: Curating) -> list[str]:
    """Say how far it has come, and what cannot be read."""
    lines = [f"curated by {curating.curator}: {curating.progress}"]
    lines += [f"  cannot be read, and counts for nothing: {one}" for one in curating.problems]
    if curating.progress.n_accepted:
        file = shlex.quote(shown_from_here(curating.path))
        suite = shlex.quote(shown_from_here(curating.path.parent.parent))
        lines.append(f"  evalnb golden add {suite} --from {file}")
    if curating.is_anonymous:
        lines.append("  Nothing can be saved yet: set the parameter `curator` to your name.")
    return [visible(line) for line in lines]
