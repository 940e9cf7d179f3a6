"""Asking judges about the variants of probes, through the cassette."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from evalnb.cassettes import Cassettes
from evalnb.errors import InputError
from evalnb.judges import PairwiseJudge
from evalnb.judging import Judging, ask_each
from evalnb.keys import canonical_message_request, request_key
from evalnb.panel import decided
from evalnb.probes.base import UNCHANGED, Variant, items_of, language_of
from evalnb.probes.frames import PROBE_VERDICTS

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence

    import pandas as pd

    from evalnb.cases import Case
    from evalnb.golden import GoldenSet, JudgingSettings
    from evalnb.judges import Judge
    from evalnb.probes.base import Item, Probe
    from evalnb.transport import Upstream

__all__ = ["NothingToProbeError", "probe_judges"]

Row = dict[str, Any]


class NothingToProbeError(InputError):
    """No probe is of a judge's kind, or no answer is for a judge."""


def probe_judges(
    golden: GoldenSet,
    outputs: pd.DataFrame,
    judges: Sequence[Judge],
    probes: Sequence[Probe],
    *,
    cassettes: Cassettes | None = None,
    upstream: Upstream | None = None,
    repeats: int | None = None,
    concurrency: int = 8,
    max_minutes: float | None = None,
    budget_usd: float | None = None,
) -> pd.DataFrame:
    """Ask judges about the variants that probes make of answers.

    Each judge is asked by the probes of its kind; what several of them show is asked once. Rules
    have no say: a bad answer is judged as well.

    Parameters
    ----------
    golden : the cases
    outputs : an outputs frame of these cases; of each the first repeat that fits, see `fitting`
    judges : of answers, of pairs, or both; one that no probe or no answer is for is left out
    probes : of any kind
    cassettes : where verdicts are taken from and stored; by default the suite's, in replay
    upstream : where to ask for what is not recorded; by default what the judge's model says
    repeats : how often what is unchanged is judged; by default what the suite says, at least 2
    concurrency : how many requests are under way at once
    max_minutes, budget_usd : bounds as for `evalnb.run`, of all judges together

    Returns
    -------
    a frame of probe verdicts, in the order of judges, probes and variants
        What could not be had is NA with its reason.

    Raises
    ------
    NothingToProbeError
        If there is nothing to ask: no probe is of a judge's kind, or no answer is for a judge.
    InputError
        If two probes have one name, or the same would befall every call.
    """
    _check_names(probes)
    repeats = golden.settings.probes.repeats if repeats is None else repeats
    if repeats < 2:
        raise ValueError(f"repeats must be at least 2, or no noise is seen. Got {repeats}.")
    items = items_of(golden, outputs)
    asked = [
        one
        for judge in judges
        if (one := _Asked(golden, judge, probes, items, repeats, upstream)).shown
    ]
    if not asked:
        raise NothingToProbeError(_why_nothing(items, judges, probes))
    if cassettes is None:
        if golden.folder is None:
            raise ValueError("a golden set without a folder has no cassettes: give `cassettes`")
        cassettes = Cassettes(golden.folder / "cassettes")
    ask_each(
        {one.judging: one.questions() for one in asked},
        cassettes,
        concurrency=concurrency,
        max_minutes=max_minutes,
        budget_usd=budget_usd,
    )
    if cassettes.faults:
        raise cassettes.faults[0]
    return PROBE_VERDICTS.build(row for one in asked for row in one.rows())


class _Asked:
    """What one judge is shown, and what it says."""

    def __init__(
        self,
        golden: GoldenSet,
        judge: Judge,
        probes: Sequence[Probe],
        items: Sequence[Item],
        repeats: int,
        upstream: Upstream | None,
    ) -> None:
        mine = [item for item in items if judge.applies_to(item.case)]
        of_kind = [probe for probe in probes if mine and probe.of == _kind(judge)]
        self.shown = [(probe, one) for probe in of_kind for one in probe.variants(mine)]
        self.judging = Judging(golden, [judge], upstream=upstream)
        self._judge = judge
        self._settings = golden.settings.judging
        self._repeats = repeats

    def questions(self) -> list[Callable[[], Awaitable[None]]]:
        """Return what asks for everything that is shown, each thing once."""
        asked: dict[tuple[str, ...], _Question] = {}
        for _, one in self.shown:
            question = _Question(self._judge, one)
            asked.setdefault(question.keys, question).repeats.append(_repeats(one, self._repeats))
        return [partial(question.ask, self.judging) for question in asked.values()]

    def rows(self) -> Iterator[Row]:
        """Yield what was said, in the order in which it was to be shown."""
        given = {(row["request_key"], row["judge_repeat"]): row for row in self.judging.rows}
        for probe, one in self.shown:
            yield from _rows(self._settings, self._judge, probe, one, given, self._repeats)


class _Question:
    """One thing that a judge is asked, whatever probes it serves."""

    def __init__(self, judge: Judge, variant: Variant) -> None:
        self.case = variant.case
        self.output = _output(variant)
        self.keys = tuple(_keys(judge, self.case, self.output).values())
        self.repeats: list[int] = []

    async def ask(self, judging: Judging) -> None:
        await judging.ask_about(self.case, self.output, repeats=max(self.repeats))


def _check_names(probes: Sequence[Probe]) -> None:
    names = [probe.name for probe in probes]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise InputError(f"there are two probes {twice!r}: give one of them another name")


def _why_nothing(items: Sequence[Item], judges: Sequence[Judge], probes: Sequence[Probe]) -> str:
    """Say why no probe asks any judge anything."""
    kinds = {_kind(judge) for judge in judges}
    of_kind = [probe for probe in probes if probe.of in kinds]
    if not of_kind:
        shown = ", ".join(f"{probe.name} is of {probe.of}" for probe in probes)
        judged = ", ".join(f"{judge.name} judges {_kind(judge)}" for judge in judges)
        return f"there is nothing to ask: {shown}, and {judged}. Name a judge of the probe's kind."
    names = ", ".join(judge.name for judge in judges)
    if any(judge.applies_to(item.case) for item in items for judge in judges):
        return f"there is nothing to ask: {', '.join(p.name for p in of_kind)} change no answer"
    return (
        f"there is nothing to ask: of the {len(items)} answers that probes can change, none is for "
        f"{names}. `evalnb.probes.fitting` says which answers can be changed, and why others cannot"
    )


def _kind(judge: Judge) -> str:
    return "pairs" if isinstance(judge, PairwiseJudge) else "answers"


def _repeats(variant: Variant, repeats: int) -> int:
    return repeats if variant.role == UNCHANGED else 1


def _output(variant: Variant) -> Row:
    shown: Row = {"repeat": 1, "text": variant.text}
    if variant.other is None:
        return shown
    return {"repeat": 1, "first": shown, "second": {"repeat": 1, "text": variant.other}}


def _keys(judge: Judge, case: Case, output: Mapping[str, Any]) -> dict[str, str]:
    """Return the cassette key of each part of a verdict."""
    return {
        part: request_key(canonical_message_request(judge.request(case, output, part)))
        for part in judge.parts()
    }


def _rows(
    settings: JudgingSettings,
    judge: Judge,
    probe: Probe,
    variant: Variant,
    given: Mapping[tuple[str, int], Mapping[str, Any]],
    repeats: int,
) -> Iterator[Row]:
    shared: Row = {
        "judge": judge.name,
        "probe": probe.name,
        "case_id": variant.item,
        "variant": variant.name,
        "family": variant.family,
        "role": variant.role,
        "language": language_of(variant.case),
        "dose": variant.dose,
        "n_characters": len(variant.text),
        "n_characters_other": None if variant.other is None else len(variant.other),
        "judge_model": judge.model,
        "judge_fingerprint": judge.fingerprint,
    }
    for part, key in _keys(judge, variant.case, _output(variant)).items():
        for judge_repeat in range(1, _repeats(variant, repeats) + 1):
            verdict = given[key, judge_repeat]
            row = {**shared, "judge_repeat": judge_repeat, "request_key": key}
            row |= {name: verdict.get(name) for name in ("judge_model_answered", "mode")}
            yield from _of_verdict(settings, judge, variant.case, part, row, verdict)


def _of_verdict(
    settings: JudgingSettings,
    judge: Judge,
    case: Case,
    part: str,
    row: Row,
    verdict: Mapping[str, Any],
) -> Iterator[Row]:
    scorers = judge.scorers if part not in judge.scorers else (part,)
    cost = verdict.get("cost_usd")
    row["cost_usd"] = None if cost is None else cost / len(scorers)
    answers = verdict.get("answers")
    if not answers:
        missing = {"na_reason": verdict["na_reason"], "error": verdict.get("error")}
        yield from ({**row, **missing, "scorer": scorer} for scorer in scorers)
    elif isinstance(judge, PairwiseJudge):
        reason = f"first: {answers['about_first']}\nsecond: {answers['about_second']}"
        yield {**row, "scorer": scorers[0], "better": answers["better"], "reason": reason}
    else:
        for judged in judge.scores(case, part, answers):
            found = decided(settings, judged)
            yield {
                **row,
                "scorer": judged.scorer,
                "value": float(judged.score),
                "low": judged.low,
                "high": judged.high,
                "passed": found["passed"],
                "reason": found["reason"],
            }
