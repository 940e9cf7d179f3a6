"""Ways past the gate that are loud and end: shadow mode, and the override of one run.

Neither passes an unsafe answer, and neither has any effect on a red-team suite.
"""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING

from evalnb.errors import InputError
from evalnb.findings import Row, finding
from evalnb.frames import Outcome

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from datetime import date
    from pathlib import Path

    from evalnb.golden import SuiteSettings

__all__ = ["OVERRIDE", "SHADOW", "Override", "find_override", "rollout_rows"]

SHADOW = "shadow_mode"
OVERRIDE = "override"
"""Rules of the notes that say why a run that is blocked ends with exit code 0."""

_TRAILER = "Skip-Eval"
_YES = frozenset({"1", "true", "yes", "on"})
_NO = frozenset({"", "0", "false", "no", "off"})
_MOST = 500


@dataclass(frozen=True)
class Override:
    """Somebody's decision to let one run pass, with the reason that they gave.

    Attributes
    ----------
    reason : in their words
    source : where it was said
    """

    reason: str
    source: str


def find_override(environment: Mapping[str, str], repository: Path | None) -> Override | None:
    """Find out whether somebody overrides this run.

    Parameters
    ----------
    environment : of the process; `SKIP_EVAL=true` overrides, with the reason in `SKIP_EVAL_REASON`
    repository : a folder in the git repository whose commit may have the trailer
        `Skip-Eval: reason`; of a merge, as CI checks out a pull request, its second parent may too

    Raises
    ------
    InputError
        If `SKIP_EVAL` is set without a reason, or to neither yes nor no, or the trailer is empty.
    """
    said = environment.get("SKIP_EVAL", "").strip()
    if said.lower() not in _YES | _NO:
        raise InputError(f"SKIP_EVAL must be true or false. Got {said[:40]!r}.")
    if said.lower() in _YES:
        reason = _short(environment.get("SKIP_EVAL_REASON", ""))
        if not reason:
            raise InputError(
                "an override needs a reason: SKIP_EVAL is set, so say why in SKIP_EVAL_REASON"
            )
        return Override(reason, "SKIP_EVAL_REASON")
    return _of_commit(repository) if repository is not None else None


def rollout_rows(settings: SuiteSettings, override: Override | None, as_of: date) -> Iterator[Row]:
    """Return a note for each way past the gate that is open.

    Parameters
    ----------
    settings : of the suite
    override : of the run, None where nobody overrides it
    as_of : the day of the run
    """
    until = settings.gate.shadow_until
    if until is not None and as_of <= until:
        yield _note(settings, SHADOW, f"what blocks is reported only, until {until}")
    if override is not None:
        reason = f"this run was let pass: {override.reason} ({override.source})"
        yield _note(settings, OVERRIDE, reason)


def _note(settings: SuiteSettings, rule: str, reason: str) -> Row:
    if settings.red_team:
        words = rule.replace("_", " ")
        return finding(
            f"{rule}_ignored",
            Outcome.NOTE,
            reason=f"{words} has no effect on a red-team suite: {reason}",
        )
    return finding(rule, Outcome.NOTE, reason=reason)


def _of_commit(folder: Path) -> Override | None:
    parents = _git(folder, "rev-list", "--parents", "-n", "1", "HEAD").split()
    for commit in parents[:1] + parents[2:3]:
        text = _git(
            folder, "log", "-1", f"--format=%(trailers:key={_TRAILER},valueonly,separator=%x0A)",
            commit,
        )  # fmt: skip
        has_trailer = _git(
            folder, "log", "-1", f"--format=%(trailers:key={_TRAILER},keyonly)", commit
        )
        if not has_trailer.strip():
            continue
        reason = _short(text)
        if not reason:
            raise InputError(
                f"an override needs a reason: commit {commit[:12]} has the trailer `{_TRAILER}:` "
                "and says nothing after it"
            )
        return Override(reason, f"{_TRAILER} of commit {commit[:12]}")
    return None


def _git(folder: Path, *arguments: str) -> str:
    """Ask git; "" where there is no repository, or no git."""
    try:
        done = subprocess.run(  # noqa: S603
            ["git", "-C", str(folder), *arguments],  # noqa: S607
            capture_output=True,
            text=True,
            errors="replace",
            check=True,
            timeout=30,
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout


def _short(text: str) -> str:
    return " ".join(text.split())[:_MOST]
