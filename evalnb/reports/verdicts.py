"""What reports say of judges: who was asked, what was skipped and what could not be had."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd

from evalnb.certificates import COUNTING_GRADES, WORKING_MINIMUM
from evalnb.costs import cache_shortfalls
from evalnb.frames import BY_PLAN, NaReason, to_records
from evalnb.names import family
from evalnb.reports.correction_words import warning_sentence
from evalnb.reports.numbers import count, interval, money, rate, tokens
from evalnb.reports.text import cell_text, listing, one_line
from evalnb.reports.views import words
from evalnb.stats.repeats import repeat_statistics

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from evalnb.certificates import Certificate
    from evalnb.judges import Judge
    from evalnb.runs import Run

__all__ = [
    "cache_shortfall",
    "describe_certificate",
    "describe_forecast",
    "describe_judges",
    "describe_verdicts",
    "failing_verdicts",
    "family",
    "judge_noise",
    "judge_sentences",
    "judged_counts",
    "kinship",
]

_NO_CERTIFICATE = "No certificate: verdicts are advisory, and block nothing."


def describe_verdicts(verdicts: pd.DataFrame) -> str:
    """Write how many verdicts there are of each judge, and why others are missing.

    Parameters
    ----------
    verdicts : a verdicts frame

    Returns
    -------
    lines of plain text
    """
    lines = []
    for name, rows in verdicts.groupby("judge", sort=False):
        missing = rows["na_reason"].dropna()
        line = f"judge {one_line(str(name))}: {count(len(rows) - len(missing), 'verdict')}"
        if len(missing):
            line += f", {tokens(len(missing))} missing ({_reasons(missing)})"
        lines.append(line)
    return "\n".join(lines or ["no judge was asked"])


def describe_certificate(certificate: Certificate) -> list[str]:
    """Write what a certificate says, axis by axis.

    Parameters
    ----------
    certificate : of one judge

    Returns
    -------
    lines of plain text
    """
    people = listing([one_line(name) for name in certificate.raters])
    name = f"judge {one_line(certificate.judge)} ({one_line(certificate.model)})"
    lines = [f"{name}, until {certificate.expires}, by {people}"]
    for scorer, evidence in certificate.axes.items():
        counts = "counts" if evidence.grade in COUNTING_GRADES else "stays advice"
        few = (
            f"; with fewer than {WORKING_MINIMUM} labels, the working minimum"
            if evidence.n < WORKING_MINIMUM
            else ""
        )
        lines.append(f"  {one_line(scorer)}: {evidence.grade}, {counts}: {evidence.figures}{few}")
    for scorer in dict.fromkeys(one.scorer for one in certificate.probes):
        said = [
            f"{one_line(one.probe)} {words(one.metric)} {one.figures}"
            for one in certificate.probes
            if one.scorer == scorer
        ]
        lines.append(f"  probes, {one_line(scorer)}: {'; '.join(said)}")
    return lines


def describe_forecast(expected: pd.DataFrame, runs_per_month: int | None = None) -> list[str]:
    """Write what a run is expected to cost, and a month of them.

    Parameters
    ----------
    expected : as `evalnb.forecast` gives it
    runs_per_month : how often it is run
    """
    lines = [
        f"{row['part']} {one_line(str(row['model']))}: about {count(row['n_calls'], 'call')}, "
        f"{tokens(row['input_tokens'])} tokens in{_how_counted(row)}, "
        f"{tokens(row['output_tokens'])} out, "
        + (f"{money(row['cost_usd'])}" if "cost_usd" in row else "no price is known")
        for row in to_records(expected)
    ]
    known = expected["cost_usd"].dropna()
    total = float(known.sum())
    if len(known):
        lines.append(f"about {money(total)} a run at list price, no cache and no thinking counted")
    if runs_per_month is not None and len(known):
        lines.append(
            f"about {money(total * runs_per_month)} a month of {tokens(runs_per_month)} runs"
        )
    return lines or ["nothing is known of what this system asks: its own code says that"]


def _how_counted(row: Mapping[str, Any]) -> str:
    if not row["n_counted"]:
        return ""
    return f" (by the API's count of {count(row['n_counted'], 'request')})"


def describe_judges(judges: Sequence[Judge], systems: Iterable[str]) -> list[str]:
    """Say what to know of judges before they are asked.

    Parameters
    ----------
    judges : of a suite
    systems : models of the systems that they judge

    Returns
    -------
    one sentence each, without full stops
    """
    models, judged = dict.fromkeys(judge.model for judge in judges), list(dict.fromkeys(systems))
    return [
        *(text for model in models for text in kinship(model, judged)),
        *map(cache_shortfall, to_records(cache_shortfalls(judges))),
    ]


def judged_counts(scores: pd.DataFrame) -> pd.DataFrame:
    """Count what judges scored, by scorer.

    Parameters
    ----------
    scores : a scores frame

    Returns
    -------
    scorer, planned, judged, passed, mean, skipped_by_rule, no_judge, missing : a row a scorer
        `missing` counts accidents, among them outputs that are missing themselves.
    """
    judged = scores[scores["tier"] == "judge"]
    rows = [_counts(str(scorer), group) for scorer, group in judged.groupby("scorer", sort=False)]
    names = ["scorer", "planned", "judged", "passed", "mean", *_PLANNED, "missing"]
    return pd.DataFrame(rows, columns=names)


def failing_verdicts(scores: pd.DataFrame) -> pd.DataFrame:
    """Return what judges let fail, and what they could not be had for by accident.

    Parameters
    ----------
    scores : a scores frame

    Returns
    -------
    case_id, repeat, scorer, score, passed, reason : row for row; `reason` of a missing one says why
    """
    judged = scores[scores["tier"] == "judge"]
    missing = judged["na_reason"].notna() & ~judged["na_reason"].isin(BY_PLAN)
    rows = judged[missing | judged["passed"].eq(other=False).fillna(value=False)]
    why = rows["na_reason"].str.cat(rows["error"].fillna(""), sep=": ")
    return pd.DataFrame(
        {
            "case_id": rows["case_id"],
            "repeat": rows["repeat"],
            "scorer": rows["scorer"],
            "score": rows["raw_value"],
            "passed": rows["passed"],
            "reason": rows["reason"].fillna(why),
        }
    ).reset_index(drop=True)


_PLANNED = (str(NaReason.SKIPPED_BY_RULE), str(NaReason.NO_JUDGE))


def _counts(scorer: str, rows: pd.DataFrame) -> dict[str, Any]:
    reasons = rows["na_reason"]
    return {
        "scorer": scorer,
        "planned": len(rows),
        "judged": int(rows["passed"].notna().sum()),
        "passed": int(rows["passed"].sum()),
        "mean": rows["value"].mean(),
        **{name: int((reasons == name).sum()) for name in _PLANNED},
        "missing": int((reasons.notna() & ~reasons.isin(BY_PLAN)).sum()),
    }


def judge_sentences(run: Run) -> list[str]:
    """Say who judged, what that saved and cost, and what it is worth.

    Parameters
    ----------
    run : any run

    Returns
    -------
    sentences, none where no judge was asked
    """
    if run.manifest.get("tier") != "full":
        return []
    table = to_records(judged_counts(run.scores))
    planned, judged = (sum(row[name] for row in table) for name in ("planned", "judged"))
    skipped = sum(row["skipped_by_rule"] for row in table)
    missing = run.scores.loc[run.scores["tier"] == "judge", "na_reason"].dropna()
    accidents = missing[~missing.isin(BY_PLAN)]
    said = [
        *_changes(run.decision),
        f"Judges scored {tokens(judged)} of {count(planned, 'score')}; {tokens(skipped)} were "
        f"skipped, since a rule had failed the answer; {tokens(len(accidents))} are missing"
        + (f" ({_reasons(accidents)})." if len(accidents) else "."),
        *_who(run.manifest.get("judges") or {}),
    ]
    said += _noise(run)
    said += _warnings(run.manifest)
    cost = run.manifest.get("judge_cost_usd")
    if cost is not None:
        said.append(f"Judging cost {money(cost)} at list price.")
    return [*said, *_corrected(run.manifest), *_standings(run.manifest)]


def _corrected(manifest: Mapping[str, Any]) -> Iterable[str]:
    """Say what labels make of the judges' pass rates and means."""
    rows: dict[tuple[str, str], dict[str, Mapping[str, Any]]] = {}
    for row in manifest.get("corrected") or []:
        rows.setdefault((row["scorer"], row["quantity"]), {})[row["metric"]] = row
    for (scorer, quantity), found in rows.items():
        what = "passes" if quantity == "pass_rate" else "gives a mean of"
        raw, labels, corrected = (found[name] for name in ("raw", "labels_only", "corrected"))
        yield (
            f"Judge {cell_text(scorer, limit=60)} {what} {_figure(raw)} ({_about(raw)}); by "
            f"{count(corrected['n'], 'label')} {_figure(labels)}; corrected by them, for the "
            f"system in general, {_figure(corrected)}."
        )
    yield from _beware(rows)


def _figure(row: Mapping[str, Any]) -> str:
    if "estimate" not in row:
        known = f", {interval(row['ci_low'], row['ci_high'])}" if "ci_low" in row else ""
        return f"not known ({row.get('reason', 'too_few')}{known})"
    if "ci_low" not in row:
        return rate(row["estimate"])
    return f"{rate(row['estimate'])} ({interval(row['ci_low'], row['ci_high'])})"


def _about(raw: Mapping[str, Any]) -> str:
    return f"of {count(raw['n'], 'output')} that could be drawn"


def _beware(rows: Mapping[tuple[str, str], Mapping[str, Mapping[str, Any]]]) -> Iterable[str]:
    """Say what to know of the corrected figures, each thing once, with the figures it is about."""
    about: dict[str, list[str]] = {}
    for (scorer, quantity), found in rows.items():
        figure = f"{cell_text(scorer, limit=60)} {quantity.replace('_', ' ')}"
        for name in found["corrected"].get("warnings") or []:
            about.setdefault(name, []).append(figure)
    for name, figures in about.items():
        yield f"Corrected {listing(figures, limit=8)}: {warning_sentence(name)}"


def _standings(manifest: Mapping[str, Any]) -> Iterable[str]:
    """Say whose verdicts count, and why others do not."""
    why = manifest.get("standings") or {}
    counting = [name for name in manifest.get("counting") or [] if name in why]
    for name in counting:
        yield f"Verdicts of {cell_text(name, limit=60)} count, {cell_text(why[name], limit=300)}."
    reasons: dict[str, list[str]] = {}
    for name in (name for name in why if name not in counting):
        reasons.setdefault(why[name], []).append(cell_text(name, limit=60))
    if not counting and set(reasons) <= {"no certificate"}:
        yield _NO_CERTIFICATE
        return
    for reason, names in reasons.items():
        yield (
            f"Verdicts of {listing(names)} are advisory, and block nothing: "
            f"{cell_text(reason, limit=300)}."
        )


def _changes(decision: pd.DataFrame) -> Iterable[str]:
    changed = decision[decision["rule"] == "judge_changed"]
    return [
        f"Attention, {cell_text(row['scorer'], limit=60)}: {cell_text(row['reason'], limit=300)}."
        for row in to_records(changed)
    ]


def _noise(run: Run) -> Iterable[str]:
    """Say how far judges agree with themselves, where they were asked more than once."""
    if (run.manifest.get("judge_repeats") or 1) < 2:
        return
    for row in judge_noise(run.verdicts).to_dict("records"):
        yield (
            f"Asked again, {cell_text(row['judge'], limit=60)} says the same of "
            f"{cell_text(row['answer'], limit=60)} with a chance of {rate(row['self_agreement'])}; "
            f"{rate(row['variance_share'])} of the variance is its own noise "
            f"({count(row['n'], 'answer')})."
        )


def judge_noise(verdicts: pd.DataFrame) -> pd.DataFrame:
    """Say how far each judge agrees with itself on each score that it gives.

    Parameters
    ----------
    verdicts : a verdicts frame with several verdicts of each judge on an output

    Returns
    -------
    judge, answer, n, self_agreement, sd_within, variance_share : a row a score; `answer` is its
    place in what was answered, such as "politeness.score"
        As `evalnb.stats.repeats.repeat_statistics` gives them, NA where they are undefined.
    """
    given = verdicts[verdicts["answers"].notna()]
    ratings = pd.DataFrame(
        [
            {"judge": row["judge"], "answer": name, "item": _item(row), "value": score}
            for row in to_records(given)
            for name, score in _scores_in(row["answers"], "")
        ],
        columns=["judge", "answer", "item", "value"],
    )
    rows = []
    for (judge, answer), group in ratings.groupby(["judge", "answer"], sort=False):
        found = repeat_statistics(group[["item", "value"]].astype({"value": "Float64"}))
        values = found.set_index("metric")
        names = ("self_agreement", "sd_within", "variance_share")
        estimates = {name: values["estimate"].get(name) for name in names}
        rows.append({"judge": judge, "answer": answer, "n": values["n"].iloc[0], **estimates})
    columns = ["judge", "answer", "n", "self_agreement", "sd_within", "variance_share"]
    return pd.DataFrame(rows, columns=columns)


def _item(row: Mapping[str, Any]) -> tuple[Any, ...]:
    return row["case_id"], row["repeat"], row.get("output_hash")


def _scores_in(answers: Mapping[str, Any], path: str) -> Iterator[tuple[str, float]]:
    """Yield each score of an answer with its place."""
    for name, value in answers.items():
        place = f"{path}.{name}" if path else name
        if isinstance(value, dict):
            yield from _scores_in(value, place)
        elif isinstance(value, (int, float)) and not isinstance(value, bool):
            yield place, float(value)


def _warnings(manifest: Mapping[str, Any]) -> Iterable[str]:
    systems = [model for model in manifest.get("models") or [] if isinstance(model, str)]
    judges = dict.fromkeys(judge["model"] for judge in (manifest.get("judges") or {}).values())
    for model in judges:
        yield from (f"Warning: {text}." for text in kinship(model, systems))
    for row in manifest.get("judge_cache_shortfalls") or []:
        yield f"Warning: {cache_shortfall(row)}."


def kinship(judge: str, systems: Iterable[str]) -> list[str]:
    """Say where a judge is of one family with what it judges.

    Parameters
    ----------
    judge : its model
    systems : models of the systems under test

    Returns
    -------
    one sentence without its full stop, none where they are of different families
    """
    akin = [system for system in systems if family(system) == family(judge)]
    if not akin:
        return []
    text = (
        f"the judge {cell_text(judge, limit=60)} is of one family with "
        f"{listing([cell_text(name, limit=60) for name in akin])}, which it judges, and "
        "models favour the style of their own family"
    )
    return [text]


def cache_shortfall(row: Mapping[str, Any]) -> str:
    """Say how much a judge's fixed text is short of what its model caches.

    Parameters
    ----------
    row : of `evalnb.costs.cache_shortfalls`

    Returns
    -------
    a sentence without its full stop
    """
    return (
        f"nothing of the judge {cell_text(row['judge'], limit=60)} is cached: its "
        f"fixed text has about {tokens(row['fixed_tokens'])} tokens, and "
        f"{cell_text(row['model'], limit=60)} caches from {tokens(row['needed_tokens'])} on; "
        f"{tokens(row['missing_tokens'])} are missing"
    )


def _who(judges: Mapping[str, Mapping[str, Any]]) -> Iterable[str]:
    by_model: dict[str, list[str]] = {}
    for scorer, judge in judges.items():
        answered = listing(judge.get("answered") or []) or "nobody"
        text = judge["model"] if answered == judge["model"] else f"{judge['model']} as {answered}"
        by_model.setdefault(cell_text(text, limit=100), []).append(scorer)
    return (f"Judge {model}: {listing(scorers)}." for model, scorers in by_model.items())


def _reasons(reasons: pd.Series) -> str:
    return listing([f"{number:,} {name}" for name, number in reasons.value_counts().items()])
