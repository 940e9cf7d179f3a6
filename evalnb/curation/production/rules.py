"""Rules that hold for every answer, whatever was asked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from evalnb.cases import Case, Limits
from evalnb.curation.production.languages import answers_in_language
from evalnb.frames import NaReason
from evalnb.scorers import SCORERS, MeasuredOutput, NotApplicable, Score, own_score
from evalnb.scoring import merged_verdict, scorer_names, suite_own_scorers, verdict_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from evalnb.curation.production.answers import Exchange, LoggedConversation
    from evalnb.golden import GoldenSet, ProductionSettings

__all__ = ["GeneralRules", "unused_rules"]

Verdict: TypeAlias = "dict[str, Any]"
Rule: TypeAlias = "Callable[[LoggedConversation, Exchange], Score | NotApplicable]"

_HIDDEN = "does not meet the schema; what is wrong with it is taken out by redaction"
_SETTINGS = {
    "must_not_include": "must_not_include",
    "schema": "expected_schema",
    "limits": "max_latency_ms` or `max_output_tokens",
    "length": "max_characters",
}
"""What `[production]` must say for a rule to have anything to decide on."""


class GeneralRules:
    """The rules of a suite that need no expectation of a case.

    Parameters
    ----------
    golden : whose `[production]` and `[scorers]` say what every answer must be

    Raises
    ------
    InputError
        If a scorer of the suite cannot be imported.
    """

    def __init__(self, golden: GoldenSet) -> None:
        self._settings = golden.settings
        self._wanted = golden.settings.production
        self._own = suite_own_scorers(golden)
        self._case = _general_case(self._wanted)
        rules: dict[str, Rule] = {
            "must_not_include": self._must_not_include,
            "schema": self._schema,
            "refusal": self._refusal,
            "limits": self._limits,
            "length": self._length,
            "language": self._language,
        }
        unused = _without_setting(self._wanted)
        self._rules = {
            name: rule
            for name, rule in rules.items()
            if name not in unused and name not in self._own
        }

    @property
    def names(self) -> tuple[str, ...]:
        """The scorers that have a row of every conversation."""
        return (*self._rules, *self._own)

    def verdicts(self, conversation: LoggedConversation) -> dict[str, Verdict]:
        """Return what each rule says of a conversation that was answered.

        Parameters
        ----------
        conversation : with at least one answer

        Returns
        -------
        scorer to columns of a score; of several answers the mean, which passes where all pass
        """
        found = {name: _of_all(conversation, rule) for name, rule in self._rules.items()}
        output = conversation.output
        for name, function in self._own.items():
            found[name] = verdict_of(output, own_score, name, function, conversation.case, output)
        return found

    def _must_not_include(self, _: LoggedConversation, exchange: Exchange) -> Score | NotApplicable:
        logged = MeasuredOutput(exchange.logged)
        return SCORERS["must_not_include"].function(self._case, logged, self._settings)

    def _schema(self, _: LoggedConversation, exchange: Exchange) -> Score | NotApplicable:
        """Decide by the answer as it was logged: a placeholder need not fit where a number did."""
        function = SCORERS["expected_schema"].function
        found = function(self._case, MeasuredOutput(exchange.logged), self._settings)
        if isinstance(found, NotApplicable) or found.passed:
            return found
        said = function(self._case, exchange.answer, self._settings)
        hidden = isinstance(said, NotApplicable) or said.passed
        return Score(0.0, False, _HIDDEN) if hidden else said

    def _refusal(self, _: LoggedConversation, exchange: Exchange) -> Score | NotApplicable:
        return SCORERS["expect_refusal"].function(self._case, exchange.answer, self._settings)

    def _limits(self, _: LoggedConversation, exchange: Exchange) -> Score | NotApplicable:
        return SCORERS["limits"].function(self._case, exchange.answer, self._settings)

    def _length(self, _: LoggedConversation, exchange: Exchange) -> Score | NotApplicable:
        most, length = self._wanted.max_characters or 0, len(exchange.logged)
        return Score(
            float(length <= most), length <= most, f"{length:,} characters, at most {most:,}"
        )

    def _language(
        self, conversation: LoggedConversation, exchange: Exchange
    ) -> Score | NotApplicable:
        return answers_in_language(
            [exchange.asked, conversation.all_asked],
            exchange.logged,
            allowed=self._wanted.languages,
            named=conversation.case.language,
        )


def unused_rules(golden: GoldenSet) -> dict[str, str]:
    """Name the scorers of a suite that say nothing of logged answers, and why.

    Parameters
    ----------
    golden : the suite

    Returns
    -------
    scorer to the reason, in words
    """
    found = {
        name: f"`[production]` in suite.toml says no `{setting}`"
        for name, setting in _without_setting(golden.settings.production).items()
    }
    general = {*_SETTINGS, "refusal"}
    used = dict.fromkeys(name for case in golden for name in scorer_names(case).values())
    needing = (name for name in used if name not in general)
    return found | dict.fromkeys(needing, "needs what a case expects, which logs do not say")


def _without_setting(wanted: ProductionSettings) -> dict[str, str]:
    """Return the rules that have nothing to decide on, with the setting that they need."""
    is_set = {
        "must_not_include": bool(wanted.must_not_include),
        "schema": wanted.expected_schema is not None,
        "limits": wanted.max_latency_ms is not None or wanted.max_output_tokens is not None,
        "length": wanted.max_characters is not None,
    }
    return {name: setting for name, setting in _SETTINGS.items() if not is_set[name]}


def _general_case(wanted: ProductionSettings) -> Case:
    """Return what is expected of every answer as one case."""
    has_limits = wanted.max_latency_ms is not None or wanted.max_output_tokens is not None
    limits = Limits(
        max_latency_ms=wanted.max_latency_ms, max_output_tokens=wanted.max_output_tokens
    )
    return Case(
        id="production",
        input="whatever was asked",
        must_not_include=wanted.must_not_include or None,
        expected_schema=wanted.expected_schema,
        limits=limits if has_limits else None,
        expect_refusal=False,
    )


def _of_all(conversation: LoggedConversation, rule: Rule) -> Verdict:
    """Ask a rule about every answer; those that it does not apply to decide nothing."""
    several = len(conversation.exchanges) > 1
    verdicts = [verdict_of(one.answer, rule, conversation, one) for one in conversation.exchanges]
    decided = [
        {**verdict, "reason": f"answer {number}: {verdict['reason']}"}
        if several and "reason" in verdict
        else verdict
        for number, verdict in enumerate(verdicts, 1)
        if verdict.get("na_reason") != NaReason.NOT_APPLICABLE
    ]
    return merged_verdict(decided) if decided else verdicts[0]
