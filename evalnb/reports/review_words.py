"""What the monthly review says in sentences: plain text, not escaped."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

from evalnb.curation.coverage import describe_coverage
from evalnb.frames import to_records
from evalnb.holdout import holdout_cases
from evalnb.reports.agreement_words import agreement_advice
from evalnb.reports.numbers import count, difference, interval, money, rate
from evalnb.reports.text import listing, one_line
from evalnb.reports.views import words
from evalnb.review.review import NO_STUDY
from evalnb.stats.levels import ALPHA

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import pandas as pd

    from evalnb.review.review import Review

__all__ = [
    "about_lines",
    "advice_lines",
    "change_lines",
    "coverage_lines",
    "falling_lines",
    "feedback_lines",
    "golden_lines",
    "kappa_lines",
    "spending_lines",
    "standing_lines",
    "state_lines",
    "trend_lines",
]

_MOST = 12
_USABLE = 0.6
_WHAT = {
    "golden_version": "the golden set",
    "judge_fingerprint": "the judge",
    "judge_answered": "the judge's model",
    "system_fingerprint": "the system",
}
_STATES = {
    "always_failing": "always failing",
    "never_failing": "never failing",
    "flaky": "flaky",
    "falling": "falling",
    "mixed": "passing now and then, too few changes to call flaky",
}


def about_lines(review: Review) -> list[str]:
    """Say what was reviewed, and what is missing."""
    lines = [review.synthetic] if review.synthetic else []
    if len(review.runs):
        first, last = review.runs["at"].iloc[0][:10], review.runs["at"].iloc[-1][:10]
        lines.append(
            f"{review.golden.settings.name} on {review.as_of}: {count(len(review.runs), 'run')} from "
            f"{first} to {last}, {count(len(review.golden), 'case')}."
        )
    return [*lines, *review.needs]


def trend_lines(review: Review) -> list[str]:
    """Say where the pass rate went since runs can be compared with the last one."""
    if review.runs.empty:
        return ["No run, no trend."]
    same = review.runs[review.runs["series"] == review.runs["series"].iloc[-1]]
    first, last = to_records(same.iloc[[0, -1]])
    alone = (
        f"The pass rate of cases is {_rate(last)} on {last['at'][:10]}; no earlier run compares."
    )
    lines = (
        [alone]
        if len(same) < 2
        else [
            (
                f"The pass rate of cases is {_rate(last)} on {last['at'][:10]}, after {_rate(first)} on "
                f"{first['at'][:10]}, the first run that compares with it."
            )
        ]
    )
    lines += [
        *_slope(review.creep),
        *(_spell(row) for row in to_records(review.spells) if _is_told(row)),
    ]
    short = [row for row in to_records(review.spells) if not _is_told(row)]
    if short:
        days = listing([row["first"] for row in short], limit=_MOST)
        lines.append(f"Blocked for a few runs besides: from {days}.")
    return lines


def change_lines(review: Review) -> list[str]:
    """Say when the golden set, the system or a judge became another one."""
    lines = [_change(row) for row in to_records(review.changes)]
    return lines or ["Golden set, system and judges were the same throughout."]


def falling_lines(review: Review) -> list[str]:
    """Say which cases drift down, since when, and by which scorer."""
    fallen = to_records(review.falling)
    if not fallen:
        nothing = "No case passes less often than it did."
        return [nothing if len(review.runs) > 1 else "No two runs to compare."]
    one_by_one = len({row.get("since") for row in fallen}) > 1
    lines = [
        f"Drift: {count(len(fallen), 'case')} {'passes' if len(fallen) == 1 else 'pass'} less often "
        "than at first"
        + (", and went one after another: a slow drift, not one change." if one_by_one else ".")
    ]
    return [*lines, *(_fall(row, review) for row in fallen[:_MOST]), *_more(fallen)]


def state_lines(review: Review) -> list[str]:
    """Count what cases do over the last runs, and name the few."""
    runs = count(int(review.states["n_runs"].max()), "run") if len(review.states) else ""
    lines = [f"Over the last {runs} of the system as it is:"] if runs else []
    for state, name in _STATES.items():
        own = review.states.loc[review.states["state"] == state, "case_id"].tolist()
        if own:
            named = "" if state == "never_failing" else f": {listing(own, limit=_MOST)}"
            lines.append(f"{count(len(own), 'case')} {name}{named}.")
    return lines or ["No run, no states."]


def kappa_lines(review: Review) -> list[str]:
    """Say how kappa moved, against what is usable, and when the certificate ends."""
    lines = [*_certificate(review)]
    rows = review.kappas[review.kappas["ci_low"].notna()]
    for axis, part in rows.groupby("axis", sort=True):
        known = to_records(part)
        lines.append(_kappa(str(axis), known))
    return lines if len(rows) else [*lines, "No labels beside verdicts, no kappa."]


def golden_lines(review: Review) -> list[str]:
    """Say how old the golden set is, what needs a fresh look, and what may go."""
    dated = review.ages["age_days"].dropna()
    lines = []
    if len(dated):
        lines.append(
            f"Cases are {count(int(dated.median()), 'day')} old at the median, the oldest {int(dated.max())}; "
            f"{count(int((dated > 180).sum()), 'case')} over 180 days."
        )
    for why, rows in review.refresh.groupby("why", sort=False):
        lines.append(
            f"To refresh, since it {why}: {listing(rows['case_id'].tolist(), limit=_MOST)}."
        )
    going = review.pruning.loc[review.pruning["proposed"].fillna(value=False), "case_id"].tolist()
    if going:
        named = listing(going, limit=_MOST)
        lines.append(f"May go, {count(len(going), 'old case')} that always pass: {named}.")
    n_unknown = int(review.ages["age_days"].isna().sum())
    return [*lines, *([f"{count(n_unknown, 'case')} of unknown age."] if n_unknown else [])]


def coverage_lines(review: Review) -> list[str]:
    """Say which kinds of traffic no case is near to."""
    if review.logs.empty:
        return ["No logs: what the golden set lacks is not known."]
    whole, drawn = (one["conversation_id"].nunique() for one in (review.logs, review.drawn))
    lines = [f"Of {whole:,} conversations {drawn:,} were drawn."] if drawn < whole else []
    return [*lines, *(line.strip() for line in describe_coverage(review.coverage))]


def feedback_lines(review: Review) -> list[str]:
    """Say where users' thumbs and the suite's scores go apart."""
    rows = to_records(review.feedback)
    if not rows:
        return ["No feedback of users in a category that cases have."]
    apart = [row for row in rows if row["diverges"]]
    lines = [
        f"{row['category']}: {rate(row['thumbs_up'])} of {count(row['n_rated'], 'rated conversation')} "
        f"have a thumb up, {rate(row['pass_rate'])} of {count(row['n_cases'], 'case')} pass "
        f"({difference(row['difference'])}, {interval(row['ci_low'], row['ci_high'])}): "
        + (
            f"the suite calls good what users do not. Read {row['against']} and add cases."
            if row["difference"] < 0
            else f"users are content with what the suite lets fail. Read {row['against']}, then look at "
            "its expectations."
        )
        for row in apart
    ]
    return lines or ["Users' thumbs and scores do not go apart by more than chance."]


def standing_lines(review: Review) -> list[str]:
    """Say what is expired, about to expire, and in force."""
    lines = [
        f"{words(row['kind'])}, {row['what']}: {_ends(row)}; {row['reason']}"
        + (f" ({row['owner']})" if "owner" in row else "")
        for row in to_records(review.standing)
    ]
    return lines or ["No waiver, override, quarantine or certificate."]


def spending_lines(review: Review) -> list[str]:
    """Say what the month has cost, what it will, and whether that is within the budget."""
    rows = to_records(review.spending)
    if not rows or "cost_usd" not in rows[-1]:
        return ["No run has a known cost."]
    row = rows[-1]
    line = (
        f"{row['month']}: {money(row['cost_usd'])} for {count(row['n_runs'], 'run')} so far, "
        f"{money(row['projected_usd'])} projected"
    )
    if "budget_usd" not in row:
        return [f"{line}; no budget was given."]
    over = "over" if row["over"] else "within"
    lines = [f"{line}, {over} the budget of {money(row['budget_usd'])}."]
    past = [one["month"] for one in rows[:-1] if one.get("over")]
    return [*lines, *([f"Over it in {', '.join(past)}."] if past else [])]


def advice_lines(review: Review) -> list[str]:
    """Say what the largest disagreements advise for the judge's prompt."""
    study = review.study
    if study.needs or not study.axis:
        return [NO_STUDY]
    advice = agreement_advice(study.close_statistics)
    apart = to_records(study.furthest(_MOST))
    too_high = sum(row.get("difference", 0) > 0 for row in apart)
    lines = (
        [
            (
                f"On {study.axis}, the axis where agreement is shown least, of the {count(len(apart), 'item')} "
                f"furthest apart the judge is above people on {too_high}, below on {len(apart) - too_high}."
            )
        ]
        if apart
        else [f"On {study.axis} the judge and people nowhere differ."]
    )
    if apart and too_high in (0, len(apart)):
        way = "kinder" if too_high else "stricter"
        lines.append(
            f"It is {way} throughout: say in its prompt what each level takes, with an example of one "
            "of the items below."
        )
    return [*lines, *advice]


def _rate(row: Mapping[str, Any]) -> str:
    if "mean" not in row:
        return "not known"
    return (
        f"{rate(row['mean'])} ({interval(row.get('ci_low'), row.get('ci_high'))}, n = {row['n']})"
    )


def _slope(creep: pd.DataFrame) -> Iterator[str]:
    """Say that the pass rate goes down, where its slope over the runs shows it."""
    (row,) = to_records(creep[creep["metric"] == "slope"])
    if row.get("p_less", 1.0) <= ALPHA:
        slope, low, high = (100 * row[name] for name in ("estimate", "ci_low", "ci_high"))
        yield (
            f"It goes down: by {-slope:.3f} in a hundred runs (95% interval of the slope "
            f"{interval(low, high)}; one-sided p {row['p_less']:.3f}, over {count(row['n_runs'], 'run')})."
        )


def _is_told(row: Mapping[str, Any]) -> bool:
    return bool(row["n_runs"] >= 5 or row.get("system_changed"))


def _spell(row: Mapping[str, Any]) -> str:
    cases = row.get("cases") or []
    system = " under another system" if row.get("system_changed") else ""
    kind = "Regression: blocked" if row.get("system_changed") else "Blocked"
    end = "" if row["over"] else ", and still is"
    text = (
        f"{kind} from {row['first']} to {row['last']} ({count(row['n_runs'], 'run')}){system}"
        f"{end}; the pass rate was {rate(row.get('lowest'))} at the lowest, {rate(row.get('before'))} "
        "before."
    )
    named = f" {count(len(cases), 'case')} failed at once and throughout: {listing(cases, limit=_MOST)}."
    return text + (named if cases else "")


def _change(row: Mapping[str, Any]) -> str:
    of = f" of {row['scorer']}" if "scorer" in row else ""
    apart = {
        "golden_version": "scores before and after are of other cases",
        "system_fingerprint": "what changes from here on may be its doing",
    }.get(row["what"], "scores of the two do not compare")
    before, now = (one_line(row.get(name, "none"), limit=80) for name in ("before", "now"))
    return f"{row['day']}: {_WHAT[row['what']]}{of} changed, {before} to {now}; {apart}."


def _fall(row: Mapping[str, Any], review: Review) -> str:
    since = f" fails since {row['since']}" if "since" in row else " passes now and then"
    own = review.reasons[review.reasons["case_id"] == row["case_id"]]
    hidden = row["case_id"] in holdout_cases(review.golden)
    said = (
        "; reasons of holdout cases are not shown"
        if hidden
        else _last_reason(own, row.get("since", ""))
    )
    return (
        f"{row['case_id']}{since}: passed {rate(row['rate_first'])} of its first {row['n_first']} "
        f"runs, {rate(row['rate_last'])} of its last {row['n_last']}{said}."
    )


def _last_reason(reasons: pd.DataFrame, since: str) -> str:
    """Quote a scorer that fails since then and passed before, else one that says something else."""
    found: list[tuple[bool, bool, str]] = []
    for scorer, rows in reasons.groupby("scorer", sort=False):
        said = to_records(rows)
        last = said[-1]
        if last["day"] >= since and last.get("passed") is False and "reason" in last:
            passed = any(row.get("passed") for row in said[:-1])
            quoted = f"; {scorer} says: {one_line(last['reason'], limit=120)}"
            found.append((last.get("tier") != "rule", not passed, quoted))
    return min(found, default=(False, False, ""))[2]


def _more(rows: list[Any]) -> list[str]:
    return [f"And {len(rows) - _MOST} more."] if len(rows) > _MOST else []


def _certificate(review: Review) -> Iterator[str]:
    if review.expires is None:
        yield "There is no certificate: verdicts are advice."
        return
    left = (review.expires - review.as_of).days
    yield (
        f"The certificate expired on {review.expires}: certify anew."
        if left < 0
        else f"The certificate holds until {review.expires}, {count(left, 'day')} more."
    )


def _kappa(axis: str, rows: list[dict[str, Any]]) -> str:
    first, last = rows[0], rows[-1]
    at = f"{rate(last['estimate'])} ({interval(last['ci_low'], last['ci_high'])}, {last['n']} labels)"
    bar = (
        f"its lower end is {'from' if last['ci_low'] >= _USABLE else 'below'} {_USABLE:g}, "
        f"so that it is {last['decision'].replace('revise', 'to be revised')}"
    )
    text = f"{axis}: kappa is {at} in {last['month']}; {bar}."
    changed = [
        (before, now)
        for before, now in itertools.pairwise(rows)
        if before.get("judge_fingerprint") != now.get("judge_fingerprint")
    ]
    for before, now in changed:
        text += (
            f" The judge changed in {now['month']}: {rate(before['estimate'])} before, "
            f"{rate(now['estimate'])} after."
        )
    if not changed and first is not last:
        text += f" It was {rate(first['estimate'])} in {first['month']}."
    return text


def _ends(row: Mapping[str, Any]) -> str:
    if "expires" not in row:
        return "of one run"
    days = count(abs(row["days_left"]), "day")
    state = {
        "expired": f"EXPIRED on {row['expires']}, {days} ago",
        "about_to_expire": f"expires on {row['expires']}, in {days}",
        "in_force": f"in force until {row['expires']}",
    }
    return state[row["state"]]
