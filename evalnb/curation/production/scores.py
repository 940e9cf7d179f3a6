"""Logged answers scored like those of the golden set, as far as no case need expect anything."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd

from evalnb.cases import Case
from evalnb.cassettes import Cassettes
from evalnb.curation.candidates.conversations import conversations
from evalnb.curation.production.answers import logged_conversations
from evalnb.curation.production.rules import GeneralRules, unused_rules
from evalnb.curation.redaction.redacting import redact_names
from evalnb.curation.redaction.redactor import redactor_of
from evalnb.frames import OUTPUTS, SCORES, NaReason
from evalnb.golden import GoldenSet
from evalnb.journal import JOURNAL, Journal
from evalnb.judges import suite_judges
from evalnb.judging import judge_outputs
from evalnb.panel import Panel

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from evalnb.cassettes import Mode
    from evalnb.curation.production.answers import LoggedConversation
    from evalnb.judges import Judge
    from evalnb.transport import Upstream

__all__ = ["production_cassettes", "production_journal", "score_logs", "unused_scorers"]

_BESIDE = ("feedback", "escalated", "category", "language", "at")
_MAY_BE_RIGHT = "refusal"
"""To decline may be right: a judge is asked whether it was."""


def score_logs(
    logs: pd.DataFrame,
    golden: GoldenSet,
    *,
    judges: Sequence[Judge] | None = None,
    run_id: str | None = None,
    cassettes: Cassettes | None = None,
    max_minutes: float | None = None,
    budget_usd: float | None = None,
    concurrency: int = 8,
    upstream: Upstream | None = None,
) -> pd.DataFrame:
    """Score what was answered in production by what holds for every answer.

    Those are the suite's `[production]` (`must_not_include`, `schema`, `limits`, `length`),
    `refusal`, which fails where an answer declines, `language`, which fails where it is not in the
    language of the question, the scorers of `[scorers]`, and judges that need no expectation, such
    as those by axes. What else the suite has is left out: `unused_scorers` names it.

    Logs are redacted first, by the suite's patterns too: neither judges nor reasons are given
    anything else. Only rules that quote nothing see an answer as it was logged.

    Parameters
    ----------
    logs : a logs frame
    golden : the suite
    judges : whom to ask; by default those of the suite, none for an empty list
        They are asked about what no rule failed, a declining answer excepted.
    run_id : stands in every row
    cassettes : where verdicts are taken from and stored; by default `production_cassettes`, in
        replay
    max_minutes, budget_usd, concurrency, upstream : as for `evalnb.judge_outputs`

    Returns
    -------
    a scores frame, conversations in the order of their names, with the conversation as `case_id`
    (named as `redact_names` does), `repeat` 1, and at the right feedback, escalated, category, language and at of the conversation
        A row of several answers has the mean of their values, and passes where all pass. Where the
        user asked nothing all is NA `not_applicable`, where nothing was answered NA `empty`; a
        verdict that is not recorded is NA `miss`.

    Raises
    ------
    InputError
        If presidio is not installed, or a judge or scorer of the suite cannot be used.

    Examples
    --------
    >>> from evalnb.frames import LOGS
    >>> said = [("user", "Where is the parcel for my son?"), ("assistant", "Das Paket ist auf dem Weg.")]
    >>> logs = LOGS.build(
    ...     {"conversation_id": "c1", "turn": turn, "role": role, "text": text}
    ...     for turn, (role, text) in enumerate(said, 1)
    ... )
    >>> score_logs(logs, GoldenSet(()), judges=[])[["scorer", "passed"]].values.tolist()
    [['refusal', True], ['language', False]]
    """
    rules = GeneralRules(golden)
    redactor = redactor_of(golden)
    logs = redact_names(logs, redactor)
    found = list(logged_conversations(logs, redactor))
    verdicts = {one.case.id: rules.verdicts(one) for one in found if one.exchanges}
    panel = Panel(golden.settings.judging, (), None)
    names: tuple[str, ...] = ()
    asked = suite_judges(golden) if judges is None else judges
    general = [judge for judge in asked if _needs_nothing(judge, found)]
    if general:
        of_logs = GoldenSet(tuple(one.case for one in found), golden.settings, golden.folder)
        open_ones = [one for one in found if one.exchanges and _is_open(verdicts[one.case.id])]
        given = judge_outputs(
            of_logs,
            OUTPUTS.build(one.record for one in open_ones),
            general,
            cassettes=cassettes or production_cassettes(golden),
            max_minutes=max_minutes,
            budget_usd=budget_usd,
            concurrency=concurrency,
            upstream=upstream,
        )
        panel = Panel(golden.settings.judging, general, given)
        names = tuple(name for judge in general for name in judge.scorers)
    rows = (
        {**row, "run_id": run_id, "case_id": one.conversation_id, "repeat": 1}
        for one in found
        for row in _rows(one, rules.names, names, verdicts.get(one.case.id), panel)
    )
    return _beside(SCORES.build(rows), logs)


def unused_scorers(golden: GoldenSet, judges: Sequence[Judge] | None = None) -> dict[str, str]:
    """Name the scorers and judges of a suite that say nothing of logged answers, and why.

    Parameters
    ----------
    golden : the suite
    judges : who was to be asked; by default those of the suite

    Returns
    -------
    name to the reason, in words
    """
    asked = suite_judges(golden) if judges is None else judges
    needing = (judge.name for judge in asked if not _needs_nothing(judge, ()))
    return unused_rules(golden) | dict.fromkeys(needing, "needs what a case expects or gives")


def production_journal(golden: GoldenSet, folder: Path) -> Journal:
    """Open the journal of live verdicts on logs, so that what was paid for is kept.

    Parameters
    ----------
    golden : the suite whose judges are asked
    folder : where the scores go
    """
    about = {"production": golden.settings.name, "golden_version": golden.version}
    return Journal(folder / JOURNAL, about)


def production_cassettes(
    golden: GoldenSet, mode: Mode = "replay", *, journal: Journal | None = None
) -> Cassettes:
    """Return where verdicts on logged answers are recorded: `cassettes/production` of the suite.

    They are apart from those of cases, which are kept for as long as a case asks for them.

    Parameters
    ----------
    golden : the suite
    mode : replay, record or live
    journal : where a live run keeps responses

    Raises
    ------
    ValueError
        If the golden set has no folder.
    """
    if golden.folder is None:
        raise ValueError("a golden set without a folder has no cassettes: give `cassettes`")
    folder: Path = golden.folder / "cassettes" / "production"
    return Cassettes(folder, mode, journal=journal)


def _needs_nothing(judge: Judge, found: Iterable[LoggedConversation]) -> bool:
    plain = Case(id="production", input="whatever was asked")
    return judge.applies_to(plain) or any(judge.applies_to(one.case) for one in found)


def _is_open(verdicts: Mapping[str, Mapping[str, Any]]) -> bool:
    return all(
        verdict.get("passed") is not False or name == _MAY_BE_RIGHT
        for name, verdict in verdicts.items()
    )


def _rows(
    one: LoggedConversation,
    rules: Sequence[str],
    judged: Sequence[str],
    verdicts: Mapping[str, Mapping[str, Any]] | None,
    panel: Panel,
) -> Iterator[dict[str, Any]]:
    if verdicts is None:
        asked = one.was_asked
        missing = {
            "na_reason": NaReason.EMPTY if asked else NaReason.NOT_APPLICABLE,
            "error": "nothing was answered" if asked else "the user asked nothing",
        }
        yield from ({"scorer": name, "tier": "rule", **missing} for name in rules)
        yield from ({"scorer": name, "tier": "judge", **missing} for name in judged)
        return
    record = one.record
    shared = {"output_hash": record["output_hash"]}
    for name in rules:
        yield {**shared, "scorer": name, "tier": "rule", **verdicts[name]}
    unjudged = NaReason.NO_JUDGE if _is_open(verdicts) else NaReason.SKIPPED_BY_RULE
    given = panel.scores(one.case, record)
    for name in judged:
        score = given.get(name, {"na_reason": unjudged})
        yield {**shared, "scorer": name, "tier": "judge", **score}


def _beside(scores: pd.DataFrame, logs: pd.DataFrame) -> pd.DataFrame:
    """Put what is known of each conversation beside its scores."""
    known = conversations(logs).set_index("conversation_id")
    names = scores["case_id"].tolist()
    beside = known[list(_BESIDE)].loc[names].reset_index(drop=True)
    return pd.concat([scores, beside], axis=1)
