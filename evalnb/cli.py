"""The command line: parses, calls the package and prints.

Exit codes: 0 pass, 1 blocked, 2 inconclusive or unusable input, 3 cassette miss, 4 a fault of
evalnb itself.
"""

from __future__ import annotations

import errno
import gc
import json
import os
import shlex
import sys
import traceback
from contextlib import closing, nullcontext, suppress
from datetime import UTC, date, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NoReturn
from warnings import catch_warnings, simplefilter

import typer
from typer.core import TyperGroup

import evalnb
from evalnb import curation
from evalnb.demo.texts import SYNTHETIC
from evalnb.errors import EvalnbError, InputError, MissError
from evalnb.places import place, shown_from_here

if TYPE_CHECKING:
    import pandas as pd

    from evalnb.probes import Probing

__all__ = ["app", "main"]

_INTERRUPTED = 130
_NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EROFS})


class _Commands(TyperGroup):
    """Commands whose interruption has the exit code of one, not that of a blocked run."""

    def invoke(self, ctx: Any) -> Any:
        """Run a command."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            _say(
                "evalnb: interrupted; what was done is kept, and the same command goes on with a "
                "live run or a recording",
                err=True,
            )
            raise typer.Exit(_INTERRUPTED) from None
        except typer.Abort:  # a question that nobody answers
            _say("evalnb: nothing was changed", err=True)
            raise typer.Exit(InputError.exit_code) from None


app = typer.Typer(
    cls=_Commands,
    help="Know whether your LLM application got worse, prove it, and block it.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
baseline_app = typer.Typer(help="The accepted run that later runs are compared with.")
golden_app = typer.Typer(help="The versions of a golden set, and the age of its cases.")
thresholds_app = typer.Typer(help="The thresholds of the gate.")
local_app = typer.Typer(help="The small local model that records without a key.")
app.add_typer(baseline_app, name="baseline")
app.add_typer(golden_app, name="golden")
app.add_typer(thresholds_app, name="thresholds")
app.add_typer(local_app, name="local")

Suite = Annotated[
    Path,
    typer.Argument(
        parser=place, metavar="SUITE", help="A suite's folder, such as golden/support, or its URL."
    ),
]
SystemName = Annotated[
    str | None, typer.Option("--system", help="A prompt file of the suite, such as v2.")
]
ResultsRoot = Annotated[
    Path | None,
    typer.Option(
        "--results",
        parser=place,
        metavar="FOLDER",
        help="Where runs are kept, a folder or URL; beside the suites by default.",
    ),
]
ModeName = Annotated[
    Literal["replay", "record", "live"],
    typer.Option(envvar="EVALNB_MODE", help="Take responses from cassettes, record, or ask live."),
]
TierName = Annotated[
    Literal["rule_only", "full"],
    typer.Option(help="The rules alone, or the judges as well."),
]
Repeats = Annotated[int | None, typer.Option(min=1, help="Answers per case.")]
JudgeRepeats = Annotated[
    int | None, typer.Option(min=1, help="Verdicts per answer, of each judge.")
]
Concurrency = Annotated[int, typer.Option(min=1, help="Requests under way at once.")]
MaxMinutes = Annotated[
    float | None, typer.Option(min=0.01, help="After this nothing more is asked.")
]
BudgetUsd = Annotated[float | None, typer.Option(min=0.0001, help="What a live run may cost.")]
Logs = Annotated[
    list[str],
    typer.Argument(
        metavar="LOGS...", help="Files, patterns, folders or URLs, as `read_logs` takes them."
    ),
]
LogMapping = Annotated[
    list[str] | None,
    typer.Option(
        "--map", metavar="COLUMN=FIELD", help="Which field of the log says what; may be repeated."
    ),
]
Rate = Annotated[float, typer.Option(help="The share of conversations to read, by lot.")]
AsOf = Annotated[str | None, typer.Option(help="The day that ages are of; today by default.")]


def _say(text: str, *, err: bool = False) -> None:
    """Print; where nobody reads any more, the command goes on and its exit code stays its own."""
    stream = sys.stderr if err else sys.stdout
    try:
        typer.echo(text, err=err)
        stream.flush()
    except OSError:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


def main() -> None:
    """Run the command line; errors for the user are one message, without a traceback."""
    # Thousands of cases are no garbage: looking for it in them takes a tenth of the time.
    gc.set_threshold(50_000, 20, 100)
    try:
        app()
    except EvalnbError as error:
        _say(f"evalnb: {_printable(str(error))}", err=True)
        sys.exit(error.exit_code)
    except OSError as error:
        if error.errno not in _NO_ROOM:
            _report_fault()
        _say(f"evalnb: {_printable(str(error))}: make room, and the same command goes on", err=True)
        sys.exit(InputError.exit_code)
    except (Exception, BaseExceptionGroup):  # noqa: BLE001 - a fault of ours has an exit code of its own
        _report_fault()
    finally:
        gc.freeze()  # what is left is not looked through once more before the process ends


def _report_fault() -> NoReturn:
    traceback.print_exc()
    _say("evalnb: this is a fault of evalnb; please report it.", err=True)
    sys.exit(4)


@app.command()
def run(
    suite: Suite,
    system: SystemName = None,
    mode: ModeName = "replay",
    tier: TierName = "rule_only",
    repeats: Repeats = None,
    judge_repeats: JudgeRepeats = None,
    concurrency: Concurrency = 8,
    max_minutes: MaxMinutes = None,
    budget_usd: BudgetUsd = None,
    resume: Annotated[
        Path | None,
        typer.Option(help="A live run to go on with; one that was stopped is by default."),
    ] = None,
    results: ResultsRoot = None,
    as_of: Annotated[
        str | None, typer.Option(help="The day that waivers are compared with; today by default.")
    ] = None,
    notebook: Annotated[
        bool, typer.Option(help="Run as golden_run.ipynb, or by the package alone.")
    ] = True,
    parameter: Annotated[
        list[str] | None,
        typer.Option("--parameter", "-p", help="NAME=VALUE for the notebook; may be repeated."),
    ] = None,
    yes: Annotated[
        bool, typer.Option("--yes", help="Do not ask before a live run, whatever it costs.")
    ] = False,
    shard: Annotated[
        str | None,
        typer.Option(
            metavar="K/N",
            help="Run the K-th of N parts without a decision; evalnb merge decides on all.",
        ),
    ] = None,
) -> None:
    """Run a suite, score it, compare it with its baseline and decide."""
    _folder(suite)
    golden = evalnb.read_golden(suite)
    override = evalnb.find_override(os.environ, golden.folder)
    day = _day(as_of)
    under_test = evalnb.load_system(golden, system)
    given: dict[str, Any] = {
        "suite": str(suite.resolve()),
        "system": system or "",
        "mode": mode,
        "tier": tier,
        "repeats": repeats or 0,
        "judge_repeats": judge_repeats or 0,
        "concurrency": concurrency,
        "max_minutes": max_minutes or 0.0,
        "budget_usd": budget_usd or 0.0,
        "progress": "log" if os.environ.get("CI") or not sys.stderr.isatty() else "auto",
        "as_of": day.isoformat(),
    }
    if shard is not None:
        if parameter:
            raise InputError("--parameter is for the notebook, and a shard has none")
        _run_shard(golden, evalnb.parse_shard(shard), under_test, given, resume, results, yes=yes)
        return
    path = evalnb.notebook_path("golden_run") if notebook else None
    extra = _parameters(parameter or [], given, notebook=notebook)
    if path is not None:
        evalnb.check_parameters(path, extra)
    folder = resume or evalnb.run_folder(
        golden, under_test, datetime.now(UTC), mode=mode, repeats=repeats, tier=tier, root=results
    )
    if resume is not None:
        _check_resumable(resume, mode)
    if mode == "live":
        _confirm_cost(golden, under_test, tier, repeats, judge_repeats, yes=yes)
    if (folder / "journal.jsonl").exists():
        _say(f"{golden.settings.name}: goes on with run {folder.name}", err=True)
    if path is not None:
        # A bar that is redrawn in place is lost on its way through the notebook.
        values = {**given, **extra, "progress": "log", "run_folder": str(folder.resolve())}
        evalnb.execute_notebook(path, folder / path.name, values)
    else:
        evaluated = evalnb.evaluate(
            golden,
            under_test,
            run_id=folder.resolve().name if resume else folder.name,
            as_of=day,
            mode=mode,
            repeats=repeats,
            concurrency=concurrency,
            progress=given["progress"],
            folder=folder,
            max_minutes=max_minutes,
            budget_usd=budget_usd,
            tier=tier,
            judge_repeats=judge_repeats,
            override=override,
        )
        evalnb.write_run(folder, evaluated)
    report = evalnb.read_report(folder)
    written = evalnb.read_run(folder) if notebook else evaluated
    _say(evalnb.describe_run(written))
    _say(
        f"  {shown_from_here(folder)}{os.sep} report.html, summary.md, report.json, junit.xml"
        + _notebook_note(path)
    )
    if unreadable := written.manifest.get("n_journal_lines_unreadable"):
        _say(f"  {unreadable} lines of the journal could not be read: they were asked again")
    if written.manifest.get("can_go_on"):
        _say(f"  To ask for what is missing, add --resume {shlex.quote(shown_from_here(folder))}")
    _post(written)
    raise typer.Exit(report["exit_code"])


def _run_shard(
    golden: evalnb.GoldenSet,
    shard: evalnb.Shard,
    system: Any,
    given: dict[str, Any],
    resume: Path | None,
    results: Path | None,
    *,
    yes: bool,
) -> None:
    part = shard.cases_of(golden)
    asked = {name: given[name] or None for name in ("repeats", "judge_repeats")}
    root = evalnb.shards_root(golden, results)
    mode, tier = given["mode"], given["tier"]
    folder = resume or evalnb.run_folder(
        part,
        system,
        datetime.now(UTC),
        mode=mode,
        repeats=asked["repeats"],
        tier=tier,
        root=root,
    )
    if resume is not None:
        _check_resumable(resume, mode)
    if mode == "live":
        _confirm_cost(part, system, tier, **asked, yes=yes)
    scored = evalnb.run_shard(
        golden,
        shard,
        system,
        folder=folder,
        mode=mode,
        concurrency=given["concurrency"],
        progress=given["progress"],
        max_minutes=given["max_minutes"] or None,
        budget_usd=given["budget_usd"] or None,
        tier=tier,
        **asked,
    )
    _say(
        f"{golden.settings.name}: shard {shard}, {len(part)} of {len(golden)} cases, "
        f"{len(scored.misses)} requests not recorded; nothing is decided yet"
    )
    _say(f"  {shown_from_here(folder)}")


@app.command()
def merge(
    suite: Suite,
    shards: Annotated[
        list[Path],
        typer.Argument(parser=place, metavar="SHARD...", help="The folders of all shards."),
    ],
    results: ResultsRoot = None,
    as_of: AsOf = None,
) -> None:
    """Put the shards of a run together, compare with the baseline and decide."""
    _folder(suite)
    golden = evalnb.read_golden(suite)
    override = evalnb.find_override(os.environ, golden.folder)
    day = _day(as_of)
    folder = evalnb.new_run_folder(golden, datetime.now(UTC), results)
    try:
        scored = evalnb.merge_shards(golden, shards, run_id=folder.name)
        merged = evalnb.decided_run(golden, scored, as_of=day, override=override)
    except EvalnbError:
        _drop_unused(folder)
        raise
    evalnb.write_run(folder, merged)
    _say(evalnb.describe_run(merged))
    _say(
        f"  {len(shards)} shards: {shown_from_here(folder)}{os.sep} report.html, summary.md, "
        "report.json, junit.xml"
    )
    _post(merged)
    raise typer.Exit(evalnb.read_report(folder)["exit_code"])


def _post(run: evalnb.Run) -> None:
    """Tell the webhook of a regression; whether that works is no matter of the run."""
    notice = evalnb.regression_notice(run, evalnb.run_link(os.environ))
    failure = evalnb.post_notice(notice, os.environ) if notice else None
    if failure:
        _say(f"  warning: {failure}; nobody was told of this run", err=True)


@app.command()
def certify(
    suite: Suite,
    run: Annotated[
        str,
        typer.Argument(
            metavar="RUN", help="The id or folder of a run with judges; the newest if none."
        ),
    ] = "",
    rater: Annotated[
        list[str] | None, typer.Option(help="Whose labels count; may be repeated.")
    ] = None,
    days: Annotated[int, typer.Option(min=1, max=366, help="How long it holds.")] = 35,
    as_of: AsOf = None,
    results: ResultsRoot = None,
) -> None:
    """Write down how far the judges agree with people; verdicts of those that do count.

    What recorded probes say of the judges goes into their certificates.
    """
    if os.environ.get("CI"):
        raise InputError("a judge is not certified in CI: do it at a desk, and have it reviewed")
    golden = evalnb.read_golden(suite)
    judged = curation.find_outputs(golden, run, results).run
    if judged is None:
        raise InputError("a baseline has no verdicts to certify: name a run of the tier `full`")
    labels, problems = evalnb.read_labels(golden, rater or None)
    for problem in problems:
        _say(f"  warning: {_printable(str(problem))}", err=True)
    found = evalnb.certify(
        golden,
        judged,
        labels,
        issued=_day(as_of),
        days=days,
        effects=evalnb.recorded_effects(golden),
    )
    for certificate in found:
        for line in evalnb.describe_certificate(certificate):
            _say(_printable(line))
        path = evalnb.write_certificate(golden, certificate)
    _say(f"review and commit {shown_from_here(path)}")


@app.command()
def demo_history(
    folder: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="Where it goes; made if missing, else empty.")
    ],
    as_of: AsOf = None,
) -> None:
    """Make six months of synthetic nightly runs, to try monthly_review.ipynb on."""
    demo = evalnb.make_demo_history(folder, _day(as_of))
    _say(f"{SYNTHETIC}\n{folder}: what was planted")
    for event in demo.events:
        _say(f"  {event.kind}: {event.first} to {event.last}, {len(event.cases)} cases")
    _say(
        f"Look at it: papermill notebooks/monthly_review.ipynb out.ipynb -k python3 -r suite {demo.suite}"
    )


@app.command()
def init(
    folder: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="Where the project goes; made if missing.")
    ],
) -> None:
    """Lay out a new project that runs at once: a suite, the notebooks, a workflow, a README."""
    written = evalnb.create_project(folder)
    _say(_printable(f"{folder}: {len(written)} files"))
    for path in written:
        if not path.is_relative_to(folder):
            _say(_printable(f"  and for all of the repository {os.path.relpath(path)}"))
    _say("\n".join(f"  {line}" for line in _first_steps(folder)))


def _first_steps(folder: Path) -> list[str]:
    name = f"./{folder}" if str(folder).startswith("-") else str(folder)
    return [
        *([f"cd {shlex.quote(name)}"] if folder.resolve() != Path.cwd() else []),
        "evalnb run golden/support   # replayed, no key",
        "then README.md: five steps to your own application, cases and CI",
    ]


@app.command()
def estimate(
    suite: Suite,
    system: SystemName = None,
    tier: TierName = "full",
    repeats: Repeats = None,
    judge_repeats: JudgeRepeats = None,
    runs_per_month: Annotated[
        int | None, typer.Option(min=1, help="Say what so many runs a month cost.")
    ] = None,
    count: Annotated[
        bool, typer.Option("--count", help="Let the API count tokens, which is free.")
    ] = False,
) -> None:
    """Say what a live run is going to cost; without --count nothing is asked."""
    golden = evalnb.read_golden(suite)
    under_test = evalnb.load_system(golden, system)
    expected = _forecast(golden, under_test, tier, repeats, judge_repeats, counted=count)
    for line in evalnb.describe_forecast(expected, runs_per_month):
        _say(_printable(line))


@app.command()
def power(
    suite: Suite,
    drop: Annotated[
        float | None,
        typer.Option(min=0.001, max=0.999, help="A drop of the pass rate that is to be found."),
    ] = None,
    cases: Annotated[int | None, typer.Option(min=1, help="Instead of the suite's own.")] = None,
    repeats: Repeats = None,
    results: ResultsRoot = None,
) -> None:
    """Say which drop a live run of the suite could find, and what it takes to find a smaller one."""
    golden = evalnb.read_golden(suite)
    planned = evalnb.plan_by_noise(golden, cases=cases, repeats=repeats, root=results)
    for number, line in enumerate(evalnb.describe_power(planned, drop)):
        _say(_printable(line if number else f"{golden.settings.name}: {line}"))


@app.command()
def noise(suite: Suite, results: ResultsRoot = None) -> None:
    """Say what varies between live runs of the same system, and which drop shows beyond it."""
    golden = evalnb.read_golden(_folder(suite))
    for number, line in enumerate(evalnb.describe_noise(evalnb.noise_floor(golden, results))):
        _say(_printable(line if number else f"{golden.settings.name}: {line}"))


@thresholds_app.command()
def suggest(
    suite: Suite,
    results: ResultsRoot = None,
    write: Annotated[bool, typer.Option("--write", help="Write it into suite.toml.")] = False,
) -> None:
    """Suggest thresholds from live runs in which nothing changed; shows what it would write."""
    if write and os.environ.get("CI"):
        raise InputError("thresholds are not written in CI: do it at a desk, and have it reviewed")
    golden = evalnb.read_golden(_folder(suite))
    found = evalnb.suggest_thresholds(golden, results)
    lines = found.diff()
    _say(f"{golden.settings.name}: from {found.runs} live runs in which nothing changed")
    for line in lines or ["  suite.toml says as much already"]:
        _say(_printable(line))
    if not lines:
        return
    if write:
        path = evalnb.write_thresholds(golden, found)
        _say(f"written; review and commit {shown_from_here(path)}")
    else:
        _say("nothing was changed: add --write to write it")


@app.command()
def rescore(
    suite: Suite,
    run: Annotated[
        Path | None,
        typer.Argument(
            parser=place, metavar="[RUN]", help="The run's folder; the newest run by default."
        ),
    ] = None,
    judge: Annotated[
        list[str] | None,
        typer.Option(help="A judge to ask instead of the suite's; may be repeated."),
    ] = None,
    mode: ModeName = "replay",
    judge_repeats: JudgeRepeats = None,
    concurrency: Concurrency = 8,
    max_minutes: MaxMinutes = None,
    budget_usd: BudgetUsd = None,
    results: ResultsRoot = None,
    as_of: AsOf = None,
) -> None:
    """Score a run's stored answers again, by the rules and judges of today."""
    _folder(suite)
    golden = evalnb.read_golden(suite)
    source = run or evalnb.latest_run(golden, results)
    if not source.is_dir():
        raise InputError(f"there is no run at {source}")
    before = evalnb.read_run(source)
    folder = evalnb.new_run_folder(golden, datetime.now(UTC), results)
    try:
        again = evalnb.rescore(
            golden,
            before,
            run_id=folder.name,
            as_of=_day(as_of),
            judges=judge or None,
            mode=mode,
            judge_repeats=judge_repeats,
            concurrency=concurrency,
            folder=folder,
            max_minutes=max_minutes,
            budget_usd=budget_usd,
        )
    except EvalnbError:
        _drop_unused(folder)
        raise
    evalnb.write_run(folder, again)
    _say(evalnb.describe_run(again))
    _say(
        f"  judged again from {source.name}: {shown_from_here(folder)}{os.sep} report.html, "
        "summary.md, report.json, junit.xml"
    )
    raise typer.Exit(evalnb.read_report(folder)["exit_code"])


@app.command()
def show(
    run: Annotated[
        Path,
        typer.Argument(
            parser=place,
            metavar="RUN",
            help="A run's folder; or a suite's folder, for its newest run.",
        ),
    ],
    cases: Annotated[bool, typer.Option("--cases", help="List what failed, with reasons.")] = False,
    results: ResultsRoot = None,
) -> None:
    """Say again what a run came to, and where its reports are."""
    folder = run
    if not (run / "report.json").is_file() and (run / "cases.jsonl").is_file():
        folder = evalnb.latest_run(evalnb.read_golden(run), results)
    if not folder.is_dir():
        raise InputError(f"there is no run at {folder}")
    shown = evalnb.read_run(folder)
    _say(evalnb.describe_run(shown))
    if cases:
        _say(evalnb.describe_failing(shown))
    for path in sorted(folder.iterdir()):
        _say(f"  {_printable(shown_from_here(path))}")


@app.command()
def compare(
    sides: Annotated[
        list[str],
        typer.Argument(
            metavar="A B...",
            help="Runs' folders, `baseline`, or systems such as v1 or their files; two or more.",
        ),
    ],
    suite: Annotated[
        str, typer.Option(help="The suite's folder, where neither side says it.")
    ] = "",
    notebook: Annotated[
        Path | None,
        typer.Option(help="Write compare.ipynb there, executed: tables, and answers side by side."),
    ] = None,
    mode: Annotated[
        Literal["replay", "record"],
        typer.Option(help="Whether the judge of pairs is asked for verdicts that are missing."),
    ] = "replay",
    concurrency: Concurrency = 8,
) -> None:
    """Put systems, prompts or runs side by side and say what is known of them."""
    found = evalnb.open_several(sides, suite, mode=mode, concurrency=concurrency)
    for line in evalnb.describe_several(found):
        _say(_printable(line))
    if notebook is not None:
        named = [str(Path(side).resolve()) if Path(side).exists() else side for side in sides]
        folder = found.golden.folder
        values = {
            "a": named[0],
            "b": named[1],
            "more": ", ".join(named[2:]),
            "suite": str(folder.resolve() if folder else ""),
        }
        evalnb.execute_notebook(evalnb.notebook_path("compare"), notebook, values)
        _say(f"  {shown_from_here(notebook)}")


@app.command()
def check(suite: Suite) -> None:
    """Validate a suite and say what it holds and lacks."""
    golden = evalnb.read_golden(suite)
    evalnb.read_waivers(golden)
    evalnb.read_wordings(golden)
    evalnb.scorers_fingerprint(golden)
    warnings = _check_systems(golden)
    baseline = evalnb.read_baseline(golden) if golden.folder else None
    _say(f"{golden.settings.name}: {len(golden)} cases, golden version {golden.version}")
    field = ""
    for row in evalnb.overview(golden).to_dict("records"):
        if row["field"] != field:
            field = row["field"]
            _say(f"  {field}")
        _say(f"    {row['n']:>5}  {_printable(row['value'])}")
    ages = evalnb.case_ages(golden, datetime.now(UTC).date())
    warnings += [*evalnb.suite_warnings(golden, baseline), *evalnb.age_warnings(ages)]
    if golden.folder:
        warnings += [*_judge_warnings(golden), *_label_warnings(golden)]
    leaks = curation.split_leaks(golden).to_dict("records")
    warnings += [
        f"{row['case_id']}, a holdout case, is nearly {row['other_id']} ({row['similarity']:.0%} alike)"
        for row in leaks
        if not row["exact"]
    ]
    for warning in warnings:
        _say(f"  warning: {_printable(warning)}")
    equal = [f"{row['case_id']} is {row['other_id']}" for row in leaks if row["exact"]]
    if equal:
        raise InputError(
            f"cases in dev and in the holdout are the same, which says nothing any more then: "
            f"{', '.join(equal)}. Take one of each two out."
        )


@app.command()
def record(
    suite: Suite,
    system: SystemName = None,
    upstream: Annotated[
        Literal["anthropic", "local"] | None,
        typer.Option(help="Where to ask; by default the local model where the system names it."),
    ] = None,
    tier: TierName = "rule_only",
    repeats: Repeats = None,
    concurrency: Concurrency = 4,
    refresh: Annotated[
        bool, typer.Option("--refresh", help="Ask again for what is recorded already.")
    ] = False,
) -> None:
    """Record the responses that a suite's cassettes lack."""
    golden = evalnb.read_golden(suite)
    cassettes = evalnb.Cassettes(_folder(suite) / "cassettes", "record", refresh=refresh)
    asked = _upstream(upstream)
    judging = None
    if tier == "full":
        judging = evalnb.Judging(golden, upstream=None if asked == "auto" else asked)
    outputs = evalnb.run(
        golden,
        evalnb.load_system(golden, system),
        repeats=repeats or golden.settings.repeats,
        concurrency=concurrency,
        progress="auto" if sys.stderr.isatty() else "log",
        cassettes=cassettes,
        upstream=asked,
        follower=judging,
    )
    failed = outputs[outputs["na_reason"].notna()]
    _say(
        f"{golden.settings.name}: {len(outputs)} answers, {cassettes.n_recorded} responses recorded, "
        f"{len(failed)} answers missing"
    )
    for row in failed.to_dict("records"):
        error = "" if row["error"] is None else str(row["error"])
        _say(_printable(f"  {row['case_id']}: {row['na_reason']} {error}"))
    if judging is not None:
        _say(evalnb.describe_verdicts(judging.frame()))
        pairs = evalnb.pairs_with_baseline(
            golden,
            outputs,
            tier,
            cassettes,
            upstream=None if asked == "auto" else asked,
            concurrency=concurrency,
        )
        if pairs is not None:
            _say("\n".join(evalnb.describe_pairs(pairs)))
    raise typer.Exit(2 if len(failed) else 0)


@app.command()
def probe(
    suite: Suite,
    judge: Annotated[
        list[str] | None,
        typer.Option(help="A judge to probe instead of the suite's; may be repeated."),
    ] = None,
    probe: Annotated[
        list[str] | None,
        typer.Option(
            help="A probe instead of all: repetition, verbosity, formatting, sycophancy, injection, "
            "floor, position, length_preference, self_preference where people labelled pairs, or your "
            "own; may be repeated."
        ),
    ] = None,
    mode: ModeName = "replay",
    upstream: Annotated[
        Literal["anthropic", "local"] | None,
        typer.Option(help="Where to ask; by default the local model where the judge names it."),
    ] = None,
    repeats: Annotated[
        int | None, typer.Option(min=2, help="Verdicts on what is unchanged, for the noise.")
    ] = None,
    concurrency: Concurrency = 8,
    max_minutes: MaxMinutes = None,
    budget_usd: BudgetUsd = None,
    results: ResultsRoot = None,
) -> None:
    """Say what sways the judges: length, place, attacks and more, beside their own noise.

    Probes change the answers of the baseline in ways that must not change a verdict, and ask the
    suite's judges about them. Verdicts are replayed; what is missing is recorded by --mode record.
    """
    golden = evalnb.read_golden(_folder(suite))
    asked = _upstream(upstream)
    root = results or evalnb.results_root(golden)
    preferences, left_out = evalnb.self_preference_probe(golden, root)
    probing = evalnb.probe_suite(
        golden,
        now=datetime.now(UTC),
        root=root,
        judges=judge or (),
        probes=probe or (),
        more=[preferences] if preferences else (),
        mode=mode,
        upstream=None if asked == "auto" else asked,
        repeats=repeats,
        concurrency=concurrency,
        max_minutes=max_minutes,
        budget_usd=budget_usd,
    )
    advice = {one.name: one.advice for one in probing.probes}
    effects = evalnb.probe_effects(probing.verdicts, probing.probes)
    for line in (
        *evalnb.describe_effects(probing.verdicts, effects, advice),
        *evalnb.describe_preferences(left_out),
        *evalnb.describe_limits(evalnb.suite_limits(golden, effects)),
    ):
        _say(_printable(line))
    if mode == "record":
        _say(f"{probing.n_recorded} verdicts recorded")
    _check_probing(probing)


def _check_probing(probing: Probing) -> None:
    """Refuse to call a probing whole that lacks what its judges were asked for."""
    n_missed = probing.missing.get("miss", 0)
    if n_missed:
        raise MissError(f"{n_missed} verdicts are not recorded: add --mode record to ask for them")
    if probing.n_unfinished:
        raise InputError(
            f"{probing.n_unfinished} verdicts could not be had: the same command asks for them again"
        )
    if probing.silent:
        raise InputError(
            f"no verdict of {', '.join(probing.silent)} can be used: see the reasons above"
        )


@app.command()
def cassettes(
    suite: Suite,
    prune: Annotated[bool, typer.Option("--prune", help="Delete those that are not used.")] = False,
) -> None:
    """List a suite's cassettes, and those that no case uses under any of its prompt files."""
    golden = evalnb.read_golden(suite)
    recorded = evalnb.Cassettes(_folder(suite) / "cassettes")
    listed = evalnb.cassettes_frame(golden, recorded)
    for row in listed.to_dict("records"):
        used = ", ".join(row["used_by"]) or "UNUSED"
        _say(_printable(f"{row['key']}  {row['model']}  {row['n_responses']} responses  {used}"))
    unused = [row["key"] for row in listed.to_dict("records") if not row["used_by"]]
    _say(f"{len(listed)} cassettes, {len(unused)} unused")
    for name in recorded.foreign():
        _say(_printable(f"no cassette, left alone: {name}"))
    if recorded.misses:
        _say(
            f"{len(recorded.misses)} requests are not recorded, so what follows them is not known: "
            "record them before pruning"
        )
    if prune and unused:
        if recorded.misses:
            raise InputError("nothing was pruned: some cases cannot be replayed to their end")
        recorded.remove(unused)
        _say(f"{len(unused)} deleted")


@app.command()
def sample_for_rating(
    suite: Suite,
    n: Annotated[int, typer.Option("--n", min=1, help="How many answers people are to rate.")] = 50,
    by: Annotated[
        Literal["random", "judge_score", "audit"],
        typer.Option(
            help="All with one chance; some of each level that a judge gave; or, beside the labels "
            "that there are, those that make the corrected figures of a judge precise soonest."
        ),
    ] = "random",
    scorer: Annotated[
        str | None, typer.Option(help="Whose levels, such as rubric, where several judges scored.")
    ] = None,
    run: Annotated[
        str,
        typer.Option(
            metavar="RUN",
            help="A run's id or folder, or baseline; the newest run by default, else the baseline.",
        ),
    ] = "",
    seed: Annotated[int, typer.Option(help="Another one is another draw.")] = 0,
    holdout: Annotated[
        bool, typer.Option("--holdout", help="Draw from holdout cases, too; who rates sees them.")
    ] = False,
    results: ResultsRoot = None,
) -> None:
    """Draw answers for people to rate, with known chances."""
    golden = evalnb.read_golden(_folder(suite))
    rated = curation.find_outputs(golden, run, results)
    drawn_from = rated if holdout else curation.without_holdout(golden, rated)
    if by == "audit":
        labels, problems = curation.read_labels(golden)
        for problem in problems:
            _say(f"  warning: {_printable(str(problem))}", err=True)
        samples = curation.samples_of(golden, labels)
        sample = curation.audit_sample(
            drawn_from.outputs, drawn_from.scores, labels, samples, n=n, scorer=scorer, seed=seed
        )
    else:
        sample = curation.sample_for_rating(
            drawn_from.outputs, drawn_from.scores, n=n, by=by, scorer=scorer, seed=seed
        )
    path = curation.write_sample(golden, sample)
    source = "the baseline" if rated.folder is None else f"run {rated.name}"
    _say(f"{golden.settings.name}: from {source}")
    for line in curation.describe_sample(sample):
        _say(_printable(f"  {line}"))
    _say(f"  {shown_from_here(path)}")
    _say(f'  To label, open notebooks/label.ipynb with sample = "{path.stem}"')


@app.command()
def score_logs(
    suite: Suite,
    logs: Logs,
    mapping: LogMapping = None,
    rate: Rate = 1.0,
    tier: TierName = "rule_only",
    mode: ModeName = "replay",
    n: Annotated[int, typer.Option("--n", min=1, help="Candidates of each kind, at most.")] = 20,
    seed: Annotated[int, typer.Option(help="Another one is another draw.")] = 0,
    concurrency: Concurrency = 8,
    max_minutes: MaxMinutes = None,
    budget_usd: BudgetUsd = None,
    results: ResultsRoot = None,
) -> None:
    """Score answers of production logs by what holds for every answer; keep failures as candidates."""
    golden = evalnb.read_golden(_folder(suite))
    folder = curation.curation_folder(golden, "production", datetime.now(UTC), results)
    try:
        read = _read_logs(golden, logs, mapping, rate, seed, folder)
        scores = _scored_logs(
            golden, read, folder, mode if tier == "full" else None, concurrency, max_minutes,
            budget_usd,
        )  # fmt: skip
    except EvalnbError:
        _drop_unused(folder)
        raise
    judges = None if tier == "full" else ()
    lines = curation.describe_scores(scores, curation.unused_scorers(golden, judges))
    found = curation.failure_candidates(read, scores, golden, n=n, seed=seed)
    picked = read[read["conversation_id"].isin(found.candidates["conversation_id"])]
    redaction = curation.redact(picked.reset_index(drop=True), curation.redactor_of(golden))
    curation.write_log_scores(folder, scores, found.candidates, redaction.logs, lines)
    _say("\n".join(map(_printable, lines)))
    if not redaction.finds_names:
        _say("  names of persons were not looked for: no spaCy model is installed")
    _say(
        f"  {len(found.candidates)} candidates, {len(found.folded)} near-duplicates folded\n"
        f"  {shown_from_here(folder)}{os.sep} scores.jsonl, candidates.jsonl, logs.jsonl, summary.md"
    )
    n_missing = int(scores["na_reason"].eq("miss").sum())
    if n_missing:
        raise MissError(f"{n_missing} scores are not recorded: add --mode record to ask for them")


def _read_logs(
    golden: evalnb.GoldenSet,
    logs: list[str],
    mapping: list[str] | None,
    rate: float,
    seed: int,
    folder: Path,
) -> pd.DataFrame:
    """Read logs, all but their texts redacted; what is damaged is kept in the folder, and said."""
    if not 0 < rate <= 1:
        raise InputError(f"--rate must be above 0 and at most 1. Got {rate}.")
    given = {}
    for pair in mapping or ():
        column, equals, field = pair.partition("=")
        if not (column and equals and field):
            raise InputError(f"--map must be COLUMN=FIELD. Got {pair!r}.")
        given[column] = field
    redactor = curation.redactor_of(golden)
    with catch_warnings(record=True) as caught:
        simplefilter("always", curation.DamagedLogWarning)
        read = curation.read_logs(
            logs[0] if len(logs) == 1 else logs,
            given or None,
            rate=rate,
            seed=seed,
            damaged=folder / "damaged_logs.jsonl",
            redactor=redactor,
        )
    for warning in caught:
        _say(f"  warning: {_printable(str(warning.message))}", err=True)
    if logs == [curation.TAUBENCH]:
        _say(curation.TAUBENCH_NOTE)
    if read.empty:
        raise InputError("no conversation was drawn: read more of the logs, or at a higher --rate")
    return curation.redact_names(read, redactor)


def _scored_logs(
    golden: evalnb.GoldenSet,
    logs: pd.DataFrame,
    folder: Path,
    mode: Literal["replay", "record", "live"] | None,
    concurrency: int,
    max_minutes: float | None,
    budget_usd: float | None,
) -> pd.DataFrame:
    """Score logs; without a mode no judge is asked."""
    if mode is None:
        return curation.score_logs(logs, golden, judges=(), run_id=folder.name)
    journal = curation.production_journal(golden, folder) if mode == "live" else None
    with nullcontext() if journal is None else closing(journal):
        return curation.score_logs(
            logs,
            golden,
            cassettes=curation.production_cassettes(golden, mode, journal=journal),
            concurrency=concurrency,
            max_minutes=max_minutes,
            budget_usd=budget_usd,
            run_id=folder.name,
        )


@baseline_app.command()
def accept(
    suite: Suite,
    reason: Annotated[str, typer.Option(help="Why this run is the new baseline.")],
    run: Annotated[
        Path | None,
        typer.Option(
            parser=place, metavar="RUN", help="The run's folder; the newest run by default."
        ),
    ] = None,
    removed: Annotated[
        list[str] | None,
        typer.Option(help="A case that was deleted on purpose, or CASE:SCORER; may be repeated."),
    ] = None,
    results: ResultsRoot = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
) -> None:
    """Show what would change, then accept a run as the baseline."""
    if not reason.strip():
        raise InputError("accepting a baseline needs a reason")
    golden = evalnb.read_golden(suite)
    folder = run or evalnb.latest_run(golden, results)
    if not folder.is_dir():
        raise InputError(f"there is no run at {folder}")
    candidate = evalnb.read_run(folder)
    evalnb.check_acceptable(golden, candidate, environment=os.environ, removed=removed or ())
    _say(f"{golden.settings.name}: run {folder.name} of system {candidate.manifest['system']}")
    changed = _changed_since(golden, candidate)
    if changed:
        _say(_printable(f"  warning: {changed}"))
    changes = evalnb.baseline_diff(golden, candidate)
    for line in changes or ["no case changes"]:
        _say(f"  {_printable(line)}")
    if not yes and not typer.confirm("Accept this run as the baseline?"):
        _say("nothing was changed")
        raise typer.Exit(InputError.exit_code)
    evalnb.accept_baseline(
        golden,
        folder,
        reason=reason,
        now=datetime.now(UTC),
        environment=os.environ,
        removed=removed or (),
    )
    _say(f"accepted; review and commit {shown_from_here(suite / 'baseline')}")
    floors = evalnb.proposed_floors(golden, candidate)
    if floors:
        _say("floors to start with, 0.95 of what was accepted; suite.toml may say:")
        _say("  [gate.floors]")
    for name, floor in floors.items():
        _say(f"  {json.dumps(name)} = {floor}")


@golden_app.command()
def log(
    suite: Suite,
    ages: Annotated[
        bool, typer.Option("--ages", help="List how old the cases are, the oldest first.")
    ] = False,
    as_of: AsOf = None,
) -> None:
    """List the versions of a suite's cases over git history, the newest first."""
    if ages:
        lines = evalnb.describe_ages(evalnb.suite_ages(evalnb.read_golden(suite), _day(as_of)))
    else:
        lines = evalnb.describe_log(evalnb.golden_log(suite))
    for line in lines:
        _say(_printable(line))


@golden_app.command()
def prune(
    suite: Suite,
    older_than: Annotated[str, typer.Option(help="An age, such as 180d or 26w.")],
    write: Annotated[bool, typer.Option("--write", help="Take the cases out.")] = False,
    as_of: AsOf = None,
) -> None:
    """Propose old cases that always pass for removal; nothing is changed without --write."""
    days = evalnb.days_of(older_than)
    golden = evalnb.read_golden(_folder(suite))
    ages = evalnb.suite_ages(golden, _day(as_of))
    proposal = evalnb.propose_pruning(
        golden,
        ages,
        evalnb.read_baseline(golden),
        older_than_days=days,
        waived=[waiver.case for waiver in evalnb.read_waivers(golden)],
    )
    for line in evalnb.describe_pruning(proposal, ages):
        _say(_printable(line))
    ids = list(proposal.loc[proposal["proposed"], "case_id"])
    if not ids:
        return
    if not write:
        _say("nothing was changed: add --write to take them out")
        return
    if len(ids) == len(golden):
        raise InputError("nothing was changed: not one case would be left")
    evalnb.write_golden(golden.remove(ids))
    removed = "".join(f" --removed {case_id}" for case_id in ids)
    _say(
        f"{len(ids)} taken out; run the suite, then accept with\n  evalnb baseline accept "
        f"{shlex.quote(shown_from_here(suite))} --reason 'pruned'{removed}"
    )


@golden_app.command()
def review(
    suite: Suite,
    results: ResultsRoot = None,
    older_than: Annotated[str, typer.Option(help="An age, such as 180d or 26w.")] = "180d",
    as_of: AsOf = None,
) -> None:
    """List cases that are stale, never or always fail or repeat others, with a proposal each."""
    golden = evalnb.read_golden(suite)
    found = curation.review_cases(
        golden,
        evalnb.suite_ages(golden, _day(as_of)),
        curation.past_states(golden, results),
        older_than_days=evalnb.days_of(older_than),
    )
    for line in curation.describe_review(found, golden):
        _say(_printable(line))
    if found["finding"].eq("leak").any():
        raise InputError("a case is in dev and in holdout: the holdout says nothing any more")


@golden_app.command()
def add(
    suite: Suite,
    staged: Annotated[
        Path,
        typer.Option(
            "--from", metavar="FILE", help="A curator's staged file, or a JSONL file of cases."
        ),
    ],
) -> None:
    """Add staged cases to a suite, those that are good and new; review and commit the diff."""
    golden = evalnb.read_golden(suite)
    adding = curation.add_staged(golden, staged)
    for line in curation.describe_adding(adding):
        _say(_printable(line))
    if adding.rows["outcome"].eq("added").any():
        _say(f"review and commit {shown_from_here(suite / 'cases.jsonl')}")
    if adding.problems:
        raise InputError(f"{len(adding.problems)} of what is staged was not added")


@golden_app.command()
def draft(
    suite: Suite,
    logs: Annotated[
        list[str],
        typer.Option(
            "--from",
            metavar="LOGS",
            help="Files, patterns, folders or URLs of production logs; may be repeated.",
        ),
    ],
    mapping: LogMapping = None,
    rate: Rate = 1.0,
    seed: Annotated[int, typer.Option(help="Another one is another draw.")] = 0,
    results: ResultsRoot = None,
) -> None:
    """Draw 15 conversations with retries and 15 that a person took over, redacted, for the form."""
    golden = evalnb.read_golden(suite)
    folder = curation.curation_folder(golden, "drafts", datetime.now(UTC), results)
    try:
        read = _read_logs(golden, logs, mapping, rate, seed, folder)
        found = curation.draft_candidates(read, golden, seed=seed)
        if found.candidates.empty:
            raise InputError("nothing was drawn: the logs have neither retries nor take-overs")
    except EvalnbError:
        _drop_unused(folder)
        raise
    picked = read[read["conversation_id"].isin(found.candidates["conversation_id"])]
    redaction = curation.redact(picked.reset_index(drop=True), curation.redactor_of(golden))
    path = curation.write_candidates(folder, found.candidates, redaction.logs)
    for line in [*curation.describe_drafts(found), *curation.describe_redaction(redaction)]:
        _say(_printable(line))
    _say(f"  {shown_from_here(path)}, logs.jsonl")
    _say(f'  To curate, open notebooks/curate.ipynb with logs = "{shown_from_here(folder)}"')


@local_app.command()
def fetch() -> None:
    """Get the weights of the local model, once."""
    _say(f"the weights are at {evalnb.fetch_weights()}")


def _drop_unused(folder: Path) -> None:
    """Delete the folder of a run that asked for nothing; what was paid for stays."""
    journal = folder / "journal.jsonl"
    with suppress(OSError):
        if journal.exists() and journal.read_bytes().count(b"\n") <= 1:
            journal.unlink()
            journal.with_suffix(".lock").unlink(missing_ok=True)
        folder.rmdir()


def _confirm_cost(
    golden: evalnb.GoldenSet,
    system: Any,
    tier: str,
    repeats: int | None,
    judge_repeats: int | None,
    *,
    yes: bool,
) -> None:
    """Say what a live run is going to cost; ask where a person sits at the terminal."""
    expected = _forecast(golden, system, tier, repeats, judge_repeats, counted=True)
    for line in evalnb.describe_forecast(expected):
        _say(_printable(line), err=True)
    if not golden.settings.red_team and evalnb.read_baseline(golden) is not None:
        _say("  if scores look worse: at most twice as much again, to confirm it", err=True)
    costs = bool(expected["cost_usd"].fillna(1).gt(0).any())
    if costs and not yes and sys.stdin.isatty() and sys.stderr.isatty():
        typer.confirm("Run it?", abort=True, err=True)


def _judge_warnings(golden: evalnb.GoldenSet) -> list[str]:
    """Hold the judges against the suite; say what to know of them before they are asked."""
    if golden.settings.gate.pairwise is not None:
        evalnb.load_pairwise_judge(golden, golden.settings.gate.pairwise)
    models = [getattr(system, "model", None) for system in evalnb.suite_systems(golden)]
    return evalnb.describe_judges(evalnb.Judging(golden).judges, filter(None, models))


def _label_warnings(golden: evalnb.GoldenSet) -> list[str]:
    """Say which lines of the label files count for nothing."""
    _, _, problems = evalnb.labels_of_samples(golden)
    evalnb.read_certificates(golden)
    return [str(problem) for problem in problems]


def _forecast(
    golden: evalnb.GoldenSet,
    system: Any,
    tier: str,
    repeats: int | None,
    judge_repeats: int | None,
    *,
    counted: bool,
) -> pd.DataFrame:
    count = None
    if counted and golden.folder is not None:
        live = evalnb.Cassettes(golden.folder / "cassettes", "live")
        count = partial(evalnb.count_tokens, cassettes=live)
    return evalnb.forecast(
        golden,
        system,
        evalnb.read_baseline(golden),
        evalnb.suite_judges(golden) if tier == "full" else (),
        repeats=repeats or golden.settings.repeats,
        judge_repeats=judge_repeats or golden.settings.judging.repeats,
        count=count,
    )


def _check_systems(golden: evalnb.GoldenSet) -> list[str]:
    """Hold every case against the systems; say what does not fit another than the suite's own."""
    own = evalnb.load_system(golden) if golden.folder else None
    warnings = []
    for system in evalnb.suite_systems(golden):
        if isinstance(system, evalnb.CallableSystem):
            continue
        try:
            for case in golden:
                system.request(case)
        except InputError as error:
            if system == own:
                raise
            warnings.append(str(error))
    return warnings


def _changed_since(golden: evalnb.GoldenSet, run: evalnb.Run) -> str | None:
    """Say that the system of a run is another one by now."""
    try:
        system = evalnb.load_system(golden, run.manifest["system"])
    except InputError:  # it ran from elsewhere
        return None
    if system.fingerprint == run.manifest["system_fingerprint"]:
        return None
    return f"the system {system.name} changed since this run: run it again to accept what it is now"


def _upstream(name: Literal["anthropic", "local"] | None) -> Any:
    if name is None:
        return "auto"
    return evalnb.LocalTransport() if name == "local" else None


def _day(text: str | None) -> date:
    if text is None:
        return datetime.now(UTC).date()
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise InputError(f"--as-of must be a date such as 2026-05-31. Got {text!r}.") from None


def _parameters(pairs: list[str], given: dict[str, Any], *, notebook: bool) -> dict[str, Any]:
    """Read NAME=VALUE pairs; a value that is JSON is read as such."""
    if pairs and not notebook:
        raise InputError("--parameter is for the notebook: leave out --no-notebook")
    values: dict[str, Any] = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if not equals:
            raise InputError(f"--parameter must be NAME=VALUE. Got {pair!r}.")
        if name in given or name == "run_folder":
            raise InputError(f"--parameter cannot set {name!r}: it follows from the other options")
        try:
            values[name] = json.loads(text)
        except ValueError:
            values[name] = text
    return values


def _check_resumable(folder: Path, mode: str) -> None:
    if mode != "live":
        raise InputError("--resume is for live runs: add --mode live")
    if not (folder / "journal.jsonl").is_file():
        raise InputError(f"there is no live run to go on with at {folder}: it has no journal.jsonl")


def _folder(suite: Path) -> Path:
    if suite.is_file():
        raise InputError(f"{suite} is a file: give a suite's folder, which has cassettes as well")
    return suite


def _notebook_note(path: Path | None) -> str:
    return "" if path is None else f", {path.name}"


def _printable(text: str) -> str:
    """Replace control characters, which a terminal would obey, line by line."""
    return "\n".join(
        "".join(mark if mark.isprintable() else "\N{REPLACEMENT CHARACTER}" for mark in line)
        for line in text.split("\n")
    )
