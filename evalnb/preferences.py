"""Pairs of answers that people labelled, for what a judge of pairs makes of its own family."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evalnb.baseline import read_baseline
from evalnb.curation.labels import read_labels
from evalnb.frames import to_records
from evalnb.judges import load_pairwise_judge
from evalnb.names import family
from evalnb.probes.self_preference import PreferredPair, SelfPreference
from evalnb.results import read_run

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    import pandas as pd

    from evalnb.golden import GoldenSet

__all__ = ["describe_preferences", "preferred_pairs", "self_preference_probe"]

_Answer = dict[str, Any]
LeftOut = dict[str, int]


def self_preference_probe(golden: GoldenSet, root: Path) -> tuple[SelfPreference | None, LeftOut]:
    """Make the probe of self-preference from a suite's labels of pairs.

    Parameters
    ----------
    golden : the suite
    root : the results root, where the labelled runs are

    Returns
    -------
    probe : None where people labelled no pair of which just one answer is of the judge's family
    left_out : labelled pairs that it does not have, by reason
    """
    if golden.folder is None or not (golden.folder / "labels").is_dir():
        return None, {}
    labels, _ = read_labels(golden)
    if not labels["other_hash"].notna().any():
        return None, {}
    judge = load_pairwise_judge(golden, golden.settings.probes.pairwise)
    pairs, left_out = preferred_pairs(golden, labels, _answers(golden, root, labels), judge.model)
    return (SelfPreference(pairs) if pairs else None), left_out


def preferred_pairs(
    golden: GoldenSet,
    labels: pd.DataFrame,
    answers: Mapping[tuple[str, str], Mapping[str, Any]],
    judge_model: str,
) -> tuple[list[PreferredPair], LeftOut]:
    """Return the labelled pairs of which just one answer is of the judge's family.

    Parameters
    ----------
    golden : the cases
    labels : a labels frame
    answers : case id and output hash to a record of an outputs frame
    judge_model : the judge's

    Returns
    -------
    pairs : one a case, the first that serves, as most people who labelled it prefer
    left_out : the other labelled pairs, by reason
    """
    left_out: LeftOut = {}
    pairs: dict[str, PreferredPair] = {}
    for case_id, hashes, preferred in _voted(labels):
        both = [answers.get((case_id, one)) for one in hashes]
        objection = _objection(golden, case_id, both, preferred, judge_model)
        if objection is None and case_id in pairs:
            objection = "of a case with another pair"
        if objection is not None:
            left_out[objection] = left_out.get(objection, 0) + 1
            continue
        texts = [str(one["text"]) for one in both if one is not None]
        first_is_own = family(str(both[0]["model"])) == family(judge_model)  # type: ignore[index]
        own, other = texts if first_is_own else texts[::-1]
        prefers_own = (preferred > 0) == first_is_own
        pairs[case_id] = PreferredPair(golden[case_id], own, other, prefers_own)
    return list(pairs.values()), left_out


def describe_preferences(left_out: Mapping[str, int]) -> list[str]:
    """Say which labelled pairs the probe of self-preference does not have."""
    if not left_out:
        return []
    told = ", ".join(f"{n} {why}" for why, n in left_out.items())
    return [f"self_preference: labelled pairs left out: {told}"]


def _voted(labels: pd.DataFrame) -> Iterator[tuple[str, tuple[str, str], float]]:
    """Yield case, the two hashes, and above 0 where more people prefer the first, below 0 the second."""
    votes: dict[tuple[str, tuple[str, str]], float] = {}
    rated = labels[labels["other_hash"].notna() & labels["value"].notna()]
    for row in to_records(rated):
        one, other = row["output_hash"], row["other_hash"]
        vote = row["value"] - 0.5
        if (row["case_id"], (other, one)) in votes:
            one, other, vote = other, one, -vote
        key = (row["case_id"], (one, other))
        votes[key] = votes.get(key, 0.0) + vote
    for (case_id, hashes), vote in votes.items():
        yield case_id, hashes, vote


def _objection(
    golden: GoldenSet,
    case_id: str,
    both: list[Mapping[str, Any] | None],
    preferred: float,
    judge_model: str,
) -> str | None:
    if case_id not in golden or None in both:
        return "whose case or answers are gone"
    if not all(one and one.get("text") and one.get("model") for one in both):
        return "without two texts of known models"
    own = [family(str(one["model"])) == family(judge_model) for one in both if one]
    if sum(own) != 1:
        return "with both answers of the judge's family, or none"
    return "that people call equal" if not preferred else None


def _answers(golden: GoldenSet, root: Path, labels: pd.DataFrame) -> dict[tuple[str, str], _Answer]:
    """Find the answers that were labelled: in the baseline, then in the newest runs that have them."""
    pairs = labels[labels["other_hash"].notna()]
    wanted = {
        (row["case_id"], row[name])
        for row in to_records(pairs)
        for name in ("output_hash", "other_hash")
    }
    found: dict[tuple[str, str], _Answer] = {}
    for outputs in _outputs(golden, root):
        for row in to_records(outputs):
            place = (row["case_id"], row.get("output_hash", ""))
            if place in wanted:
                found.setdefault(place, row)
        if len(found) == len(wanted):
            break
    return found


def _outputs(golden: GoldenSet, root: Path) -> Iterator[pd.DataFrame]:
    baseline = read_baseline(golden)
    if baseline is not None:
        yield baseline.outputs
    folder = root / golden.settings.name
    for run in sorted(folder.glob("*"), reverse=True) if folder.is_dir() else ():
        if (run / "report.json").is_file():
            yield read_run(run).outputs
