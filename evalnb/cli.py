"""The command line: parses, calls the package and prints.

Exit codes: 0 pass, 1 blocked, 2 inconclusive or unusable input, 3 cassette miss, 4 a fault of
evalnb itself.
"""

from __future__ import annotations

import json
import os
import sys
import traceback
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from typer.core import TyperGroup

import evalnb
from evalnb.errors import EvalnbError, InputError

__all__ = ["app", "main"]

_INTERRUPTED = 130


class _Commands(TyperGroup):
    """Commands whose interruption has the exit code of one, not that of a blocked run."""

    def invoke(self, ctx: Any) -> Any:
        """Run a command."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            typer.echo("evalnb: interrupted; what was done is kept", err=True)
            raise typer.Exit(_INTERRUPTED) from None
        except typer.Abort:  # a question that nobody answers
            typer.echo("evalnb: nothing was changed", err=True)
            raise typer.Exit(InputError.exit_code) from None


app = typer.Typer(
    cls=_Commands,
    help="Know whether your LLM application got worse, prove it, and block it.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
baseline_app = typer.Typer(help="The accepted run that later runs are compared with.")
local_app = typer.Typer(help="The small local model that records without a key.")
app.add_typer(baseline_app, name="baseline")
app.add_typer(local_app, name="local")

Suite = Annotated[Path, typer.Argument(help="A suite's folder, such as golden/support.")]
SystemName = Annotated[
    str | None, typer.Option("--system", help="A prompt file of the suite, such as v2.")
]
ResultsRoot = Annotated[
    Path | None,
    typer.Option("--results", help="Where runs are kept; beside the suites by default."),
]


def main() -> None:
    """Run the command line; errors for the user are one message, without a traceback."""
    try:
        app()
    except EvalnbError as error:
        typer.echo(f"evalnb: {_printable(str(error))}", err=True)
        sys.exit(error.exit_code)
    except Exception:  # noqa: BLE001 - a fault of ours has an exit code of its own
        traceback.print_exc()
        typer.echo("evalnb: this is a fault of evalnb; please report it.", err=True)
        sys.exit(4)


@app.command()
def run(
    suite: Suite,
    system: SystemName = None,
    mode: Annotated[
        Literal["replay", "record", "live"],
        typer.Option(envvar="EVALNB_MODE", help="Answer from cassettes, record, or ask live."),
    ] = "replay",
    repeats: Annotated[int | None, typer.Option(min=1, help="Answers per case.")] = None,
    concurrency: Annotated[int, typer.Option(min=1, help="Answers under way at once.")] = 8,
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
) -> None:
    """Run a suite, score it, compare it with its baseline and decide."""
    _folder(suite)
    golden = evalnb.read_golden(suite)
    day = _day(as_of)
    evalnb.load_system(golden, system)
    given: dict[str, Any] = {
        "suite": str(suite.resolve()),
        "system": system or "",
        "mode": mode,
        "repeats": repeats or 0,
        "concurrency": concurrency,
        "progress": "log" if os.environ.get("CI") or not sys.stderr.isatty() else "auto",
        "as_of": day.isoformat(),
    }
    path = evalnb.notebook_path("golden_run") if notebook else None
    extra = _parameters(parameter or [], given, notebook=notebook)
    if path is not None:
        evalnb.check_parameters(path, extra)
    folder = evalnb.new_run_folder(golden, datetime.now(UTC), results)
    if path is not None:
        # A bar that is redrawn in place is lost on its way through the notebook.
        values = {**given, **extra, "progress": "log", "run_folder": str(folder.resolve())}
        evalnb.execute_notebook(path, folder / path.name, values)
    else:
        evaluated = evalnb.evaluate(
            golden,
            evalnb.load_system(golden, system),
            run_id=folder.name,
            as_of=day,
            mode=mode,
            repeats=repeats,
            concurrency=concurrency,
            progress=given["progress"],
        )
        evalnb.write_run(folder, evaluated)
    report = evalnb.read_report(folder)
    typer.echo(evalnb.describe_run(evalnb.read_run(folder)))
    typer.echo(
        f"  {_shown(folder)}{os.sep} summary.md, report.json, junit.xml" + _notebook_note(path)
    )
    raise typer.Exit(report["exit_code"])


@app.command()
def check(suite: Suite) -> None:
    """Validate a suite and say what it holds and lacks."""
    golden = evalnb.read_golden(suite)
    evalnb.read_waivers(golden)
    for system in evalnb.suite_systems(golden):
        for case in golden:
            system.request(case)
    baseline = evalnb.read_baseline(golden) if golden.folder else None
    typer.echo(f"{golden.settings.name}: {len(golden)} cases, golden version {golden.version}")
    field = ""
    for row in evalnb.overview(golden).to_dict("records"):
        if row["field"] != field:
            field = row["field"]
            typer.echo(f"  {field}")
        typer.echo(f"    {row['n']:>5}  {_printable(row['value'])}")
    for warning in evalnb.suite_warnings(golden, baseline):
        typer.echo(f"  warning: {_printable(warning)}")


@app.command()
def record(
    suite: Suite,
    system: SystemName = None,
    upstream: Annotated[
        Literal["anthropic", "local"] | None,
        typer.Option(help="Where to ask; by default the local model where the system names it."),
    ] = None,
    repeats: Annotated[int | None, typer.Option(min=1, help="Answers per case.")] = None,
    concurrency: Annotated[int, typer.Option(min=1, help="Answers under way at once.")] = 4,
    refresh: Annotated[
        bool, typer.Option("--refresh", help="Ask again for what is recorded already.")
    ] = False,
) -> None:
    """Record the responses that a suite's cassettes lack."""
    golden = evalnb.read_golden(suite)
    cassettes = evalnb.Cassettes(_folder(suite) / "cassettes", "record", refresh=refresh)
    outputs = evalnb.run(
        golden,
        evalnb.load_system(golden, system),
        repeats=repeats or golden.settings.repeats,
        concurrency=concurrency,
        progress="auto" if sys.stderr.isatty() else "log",
        cassettes=cassettes,
        upstream=_upstream(upstream),
    )
    failed = outputs[outputs["na_reason"].notna()]
    typer.echo(
        f"{golden.settings.name}: {len(outputs)} answers, {cassettes.n_recorded} responses recorded, "
        f"{len(failed)} answers missing"
    )
    for row in failed.to_dict("records"):
        error = "" if row["error"] is None else str(row["error"])
        typer.echo(_printable(f"  {row['case_id']}: {row['na_reason']} {error}"))
    raise typer.Exit(2 if len(failed) else 0)


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
        typer.echo(
            _printable(f"{row['key']}  {row['model']}  {row['n_responses']} responses  {used}")
        )
    unused = [row["key"] for row in listed.to_dict("records") if not row["used_by"]]
    typer.echo(f"{len(listed)} cassettes, {len(unused)} unused")
    if recorded.misses:
        typer.echo(
            f"{len(recorded.misses)} requests are not recorded, so what follows them is not known: "
            "record them before pruning"
        )
    if prune and unused:
        if recorded.misses:
            raise InputError("nothing was pruned: some cases cannot be replayed to their end")
        recorded.remove(unused)
        typer.echo(f"{len(unused)} deleted")


@baseline_app.command()
def accept(
    suite: Suite,
    reason: Annotated[str, typer.Option(help="Why this run is the new baseline.")],
    run: Annotated[
        Path | None, typer.Option(help="The run's folder; the newest run by default.")
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
    typer.echo(
        f"{golden.settings.name}: run {folder.name} of system {candidate.manifest['system']}"
    )
    changes = evalnb.baseline_diff(golden, candidate)
    for line in changes or ["no case changes"]:
        typer.echo(f"  {_printable(line)}")
    if not yes and not typer.confirm("Accept this run as the baseline?"):
        typer.echo("nothing was changed")
        raise typer.Exit(InputError.exit_code)
    evalnb.accept_baseline(
        golden,
        folder,
        reason=reason,
        now=datetime.now(UTC),
        environment=os.environ,
        removed=removed or (),
    )
    typer.echo(f"accepted; review and commit {_shown(suite / 'baseline')}")


@local_app.command()
def fetch() -> None:
    """Get the weights of the local model, once."""
    typer.echo(f"the weights are at {evalnb.fetch_weights()}")


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


def _folder(suite: Path) -> Path:
    if suite.is_file():
        raise InputError(f"{suite} is a file: give a suite's folder, which has cassettes as well")
    return suite


def _shown(path: Path) -> str:
    """Return a path as short as it can be said from here."""
    try:
        return str(path.resolve().relative_to(Path.cwd()))
    except ValueError:
        return str(path)


def _notebook_note(path: Path | None) -> str:
    return "" if path is None else f", {path.name}"


def _printable(text: str) -> str:
    """Replace control characters, which a terminal would obey, line by line."""
    return "\n".join(
        "".join(mark if mark.isprintable() else "\N{REPLACEMENT CHARACTER}" for mark in line)
        for line in text.split("\n")
    )
