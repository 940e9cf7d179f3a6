"""What a team is told at once when a run got worse: a few words and counts, never what was said."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from evalnb.frames import Outcome, to_records
from evalnb.reports.numbers import count, rate
from evalnb.reports.text import listing, one_line

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evalnb.runs import Run

__all__ = ["SAFETY", "regression_notice", "run_link"]

SAFETY = "safety"
"""The severity, and the rule, of an answer that is unsafe."""

_REGRESSION = "regression"
_SHOWN_CASES = 10
_LONGEST = 1500
_ABOUT = ("suite", "run_id", "system", "mode", "golden_version")


def regression_notice(run: Run, link: str = "") -> dict[str, Any] | None:
    """Say that a run got worse, for a chat or an incident system.

    Parameters
    ----------
    run : any run
    link : where the run can be looked at

    Returns
    -------
    an object of JSON values, None where nothing blocks
        `text` is for people, as Slack takes it; `severity` is `safety` where an answer is unsafe,
        else `regression`; `findings` counts what blocks by rule. No question, answer or reason
        is in it, and the ids of cases only where the suite is public.
    """
    blocks = [row for row in to_records(run.decision) if row["outcome"] == Outcome.FAIL]
    if not blocks:
        return None
    findings = dict(Counter(row["rule"] for row in blocks))
    ids = list(dict.fromkeys(row["case_id"] for row in blocks if "case_id" in row))
    is_public = run.manifest.get("privacy") == "public"
    rates = next(row for row in to_records(run.slices) if row["slice"] == "all")
    notice = {
        "severity": SAFETY if SAFETY in findings else _REGRESSION,
        "outcome": str(run.outcome),
        "exit_code": run.exit_code,
        **{name: run.manifest.get(name) for name in _ABOUT},
        "pass_rate": rates.get("pass_rate"),
        "baseline_pass_rate": rates.get("baseline_pass_rate"),
        "n_scored": rates["n_scored"],
        "n_planned": rates["n_planned"],
        "findings": findings,
        "n_cases": len(ids),
        "cases": ids[:_SHOWN_CASES] if is_public else [],
        "link": link,
    }
    return {"text": _text(notice), **notice}


def run_link(environment: Mapping[str, str]) -> str:
    """Return where a run of GitHub Actions can be looked at; "" anywhere else.

    Examples
    --------
    >>> run_link(
    ...     {
    ...         "GITHUB_SERVER_URL": "https://github.com",
    ...         "GITHUB_REPOSITORY": "shop/evals",
    ...         "GITHUB_RUN_ID": "7",
    ...     }
    ... )
    'https://github.com/shop/evals/actions/runs/7'
    """
    names = ("GITHUB_SERVER_URL", "GITHUB_REPOSITORY", "GITHUB_RUN_ID")
    server, repository, number = (environment.get(name, "") for name in names)
    if not (server and repository and number):
        return ""
    return f"{server}/{repository}/actions/runs/{number}"


def _text(notice: Mapping[str, Any]) -> str:
    found = ", ".join(f"{rule} {number}" for rule, number in notice["findings"].items())
    parts = [
        f"{notice['severity'].upper()}: {notice['suite']}: {found}",
        _rates(notice),
        f"system {notice['system']}, {notice['mode']}, run {notice['run_id']}",
    ]
    if notice["cases"]:
        ids = [*notice["cases"], *[""] * (notice["n_cases"] - len(notice["cases"]))]
        parts.append("cases " + listing(ids, limit=_SHOWN_CASES))
    elif notice["n_cases"]:
        parts.append(count(notice["n_cases"], "case"))
    if not notice["exit_code"]:
        parts.append("reported only: shadow mode or an override holds")
    text = one_line("; ".join(parts), limit=_LONGEST)
    # Slack would take these for links, mentions and entities.
    escaped = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return f"{escaped} {notice['link']}".strip()


def _rates(notice: Mapping[str, Any]) -> str:
    scored = f"of {notice['n_scored']} scored"
    if notice["pass_rate"] is None:
        return "nothing was scored"
    now = f"pass rate {rate(notice['pass_rate'])} {scored}"
    before = notice["baseline_pass_rate"]
    return now if before is None else f"{now}, {rate(before)} in the baseline"
