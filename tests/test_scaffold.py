"""A new project, as `evalnb init` lays it out, goes through its own workflow."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import check_jsonschema
import pytest
import yaml
from click.testing import CliRunner, Result

from evalnb.errors import InputError
from evalnb.golden import read_golden
from evalnb.results import latest_run, read_report
from evalnb.scaffold import create_project
from tests.commands import evalnb
from tests.suites import REPOSITORY

WORKFLOW = ".github/workflows/evals.yml"
SCAFFOLD = REPOSITORY / "evalnb" / "scaffold" / "files"
WORKFLOWS = {
    "scaffold": SCAFFOLD / "dot_github" / "workflows" / "evals.yml",
    "repository": REPOSITORY / WORKFLOW,
}
README = (REPOSITORY / "README.md").read_text()
BY_SCHEMA = ("--builtin-schema", "vendor.github-workflows")
LANES = {"pull_request": "replay", "push": "full"}


def workflow_of(path: Path) -> dict[Any, Any]:
    return dict(yaml.safe_load(path.read_text()))


def run_replay_lane(repository: Path, event: str) -> tuple[int, str, str]:
    """Run the steps of the job `replay` but the installation; return code, words and summary."""
    workflow = workflow_of(repository / WORKFLOW)
    job = workflow["jobs"]["replay"]
    # The one expression of the file that a step depends on.
    assert job["env"] == {"LANE": "${{ github.event_name == 'push' && 'full' || 'replay' }}"}
    summary = repository.parent / "summary.md"
    summary.write_text("")
    environment = {
        **{k: v for k, v in os.environ.items() if not k.startswith(("ANTHROPIC_", "EVALNB_"))},
        "CI": "true",
        "GITHUB_STEP_SUMMARY": str(summary),
        "LANE": LANES[event],
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "PYTHONPATH": str(REPOSITORY),
        **workflow["env"],
    }
    said, code = "", 0
    for step in job["steps"]:
        if "run" not in step or step["name"] == "Install":
            continue
        done = subprocess.run(
            ["bash", "-e", "-c", step["run"]],
            cwd=repository,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )
        said += done.stdout + done.stderr
        code = code or done.returncode
    return code, said, summary.read_text()


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "my evals"
    folder.mkdir()
    subprocess.run(["git", "init", "--quiet", folder], check=True)
    assert evalnb("init", ".", folder=folder).code == 0
    return folder


def test_a_project_below_the_root_of_a_repository_goes_through_its_workflow(
    tmp_path: Path,
) -> None:
    repository = tmp_path / "shop"
    subprocess.run(["git", "init", "--quiet", repository], check=True)
    said = evalnb("init", "--", "-our évals/b", folder=repository)
    assert f"for all of the repository {WORKFLOW}" in said.out
    assert "cd './-our évals/b'" in said.out
    assert not (repository / "-our évals/b" / WORKFLOW).exists()
    code, words, summary = run_replay_lane(repository, "pull_request")
    assert code == 0, words
    assert "support: PASS" in words
    assert "support" in summary
    uploads = workflow_of(repository / WORKFLOW)["jobs"]["replay"]["steps"][-1]["with"]["path"]
    results = uploads.replace("${{ env.EVALNB_PROJECT }}", "./-our évals/b")
    assert (repository / results / "support").is_dir()


@pytest.mark.parametrize("event", ["pull_request", "push"])
def test_a_new_project_goes_through_its_own_workflow(event: str, project: Path) -> None:
    code, said, summary = run_replay_lane(project, event)
    assert code == 0, said
    assert "support: PASS" in said
    assert "support" in summary
    golden = read_golden(project / "golden" / "support")
    report = read_report(latest_run(golden))
    assert report["outcome"] == "pass"
    assert ("Judges scored" in said) == (event == "push")


def test_a_changed_prompt_goes_red_and_each_miss_is_explained(project: Path) -> None:
    prompt = project / "golden" / "support" / "systems" / "v1.toml"
    prompt.write_text(prompt.read_text().replace("one short sentence", "one long sentence"))
    code, _, summary = run_replay_lane(project, "pull_request")
    assert code == 3
    assert "20 cases miss: &#96;system&#96; changed" in summary
    assert "evalnb record golden/support" in summary


def test_an_answer_that_got_worse_is_blocked(project: Path) -> None:
    # Scripted: what was recorded is changed by hand, as a worse model would have answered.
    suite = project / "golden" / "support"
    changed = 0
    for path in (suite / "cassettes").iterdir():
        content = json.loads(path.read_text())
        for entry in content["entries"]:
            for block in entry["response"]["content"]:
                if block.get("type") == "text" and "B-48213" in block["text"]:
                    block["text"] = "I do not know."
                    changed += 1
        path.write_text(json.dumps(content))
    assert changed
    code, said, _ = run_replay_lane(project, "pull_request")
    assert code == 1, said
    assert "order-number-from-email" in said


def test_nothing_is_written_over(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("mine")
    with pytest.raises(InputError, match=r"README\.md already, and nothing was written"):
        create_project(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["README.md"]
    assert (tmp_path / "README.md").read_text() == "mine"


def test_the_workflow_of_another_project_of_a_repository_is_not_written_over(
    tmp_path: Path,
) -> None:
    (tmp_path / ".git").write_text("gitdir: elsewhere")  # as in a worktree
    create_project(tmp_path / "one")
    before = (tmp_path / WORKFLOW).read_text()
    with pytest.raises(InputError, match=r"two has \.\./\.github/workflows/evals\.yml already"):
        create_project(tmp_path / "two")
    assert not (tmp_path / "two").exists()
    assert (tmp_path / WORKFLOW).read_text() == before


def test_a_link_that_leads_nowhere_is_there_already(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (project / "README.md").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(InputError, match=r"README\.md already, and nothing was written"):
        create_project(project)
    assert not (tmp_path / "elsewhere").exists()


@pytest.mark.parametrize("name", ["golden", "golden/support", "ci"])
def test_where_one_file_cannot_be_written_none_is_left(name: str, tmp_path: Path) -> None:
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text("mine")
    with pytest.raises(InputError, match="cannot be written: .* No file was left"):
        create_project(tmp_path)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == [tmp_path / name]


def test_the_suite_of_a_new_project_was_recorded_with_the_projects_own() -> None:
    own, starter = (folder / "golden" / "support" for folder in (REPOSITORY, SCAFFOLD))
    lines = set((own / "cases.jsonl").read_text().splitlines())
    assert set((starter / "cases.jsonl").read_text().splitlines()) <= lines
    cassettes = sorted((starter / "cassettes").iterdir())
    assert len(cassettes) > 20
    for path in cassettes:
        assert path.read_bytes() == (own / "cassettes" / path.name).read_bytes()


def checked_by_schema(path: Path) -> Result:
    return CliRunner().invoke(check_jsonschema.main, [*BY_SCHEMA, str(path)])


@pytest.mark.parametrize("path", WORKFLOWS.values(), ids=WORKFLOWS)
def test_a_workflow_is_one_by_its_schema(path: Path) -> None:
    done = checked_by_schema(path)
    assert done.exit_code == 0, done.output


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("    runs-on:", "    runs_on:"),
        ("  pull_request:", "  pull_requests:"),
        ("  contents: read", "  contents: some"),
        ("    timeout-minutes: 15", "    timeout-minutes: long"),
        ("        run: pip", "        runs: pip"),
        ("  workflow_dispatch:", " workflow_dispatch:"),
    ],
)
def test_a_broken_workflow_is_none_by_its_schema(right: str, wrong: str, tmp_path: Path) -> None:
    text = WORKFLOWS["scaffold"].read_text()
    assert right in text
    broken = tmp_path / "evals.yml"
    broken.write_text(text.replace(right, wrong, 1))
    assert checked_by_schema(broken).exit_code == 1


@pytest.mark.parametrize("path", WORKFLOWS.values(), ids=WORKFLOWS)
def test_a_workflow_is_safe_for_forks(path: Path) -> None:
    workflow = workflow_of(path)
    triggers = workflow[True]  # what YAML 1.1 makes of `on`
    assert "pull_request" in triggers
    assert "pull_request_target" not in triggers
    assert workflow["permissions"] == {"contents": "read"}
    for name, job in workflow["jobs"].items():
        assert job["timeout-minutes"] <= 60
        if "secrets." in json.dumps(job):
            assert job["environment"] == "evals"
            assert "pull_request" not in job["if"]
        for step in job["steps"]:
            assert "${{" not in step.get("run", ""), name
            if "uses" in step:
                assert re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40}", step["uses"])


def test_the_shell_script_refuses_a_lane_that_is_none(project: Path) -> None:
    done = subprocess.run(
        ["bash", "ci/evals.sh", "dance"], cwd=project, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "there are replay, full, live and record" in done.stderr


@pytest.mark.parametrize("path", WORKFLOWS.values(), ids=WORKFLOWS)
def test_the_night_may_record_and_uploads_what_it_made(path: Path) -> None:
    workflow = workflow_of(path)
    modes = workflow[True]["workflow_dispatch"]["inputs"]["mode"]
    assert sorted(modes["options"]) == ["live", "record"]
    night = workflow["jobs"]["live"]
    assert night["environment"] == "evals"
    # At night nobody chose a mode.
    assert night["env"] == {"LANE": f"${{{{ inputs.mode || '{modes['default']}' }}}}"}
    (run,) = (step["run"] for step in night["steps"] if "evals.sh" in step.get("run", ""))
    assert run.split()[2] == '"$LANE"'
    uploads = night["steps"][-1]
    assert uploads["if"] == "always()"
    assert re.search(r"^(\$.*/)?results/$", uploads["with"]["path"], re.MULTILINE)
    assert re.search(r"golden/\S+/cassettes/", uploads["with"]["path"])


def test_the_sharded_workflow_of_the_readme_decides_as_one_run(project: Path) -> None:
    (text,) = re.findall(r"```yaml\n(name: sharded\n.*?)```", README, re.DOTALL)
    path = project / WORKFLOW
    path.write_text(text)
    checked = checked_by_schema(path)
    assert checked.exit_code == 0, checked.output
    jobs = workflow_of(path)["jobs"]
    shards = jobs["shard"]["strategy"]["matrix"]["shard"]
    (run,) = commands_of(jobs["shard"])
    (merge,) = commands_of(jobs["gate"])
    for shard in shards:
        assert (
            evalnb(*run.replace("$SHARD", shard).replace('"', "").split(), folder=project).code == 0
        )
    folders = sorted((project / "results" / "_shards" / "support").iterdir())
    *words, pattern = merge.split()
    assert pattern == "results/_shards/support/*"
    merged = evalnb(*words, *folders, folder=project)
    assert merged.code == 0, merged.error
    assert merged.out.startswith("support: PASS")


def commands_of(job: dict[str, Any]) -> list[str]:
    """Return what a job runs of evalnb, without the command's name."""
    runs = [step["run"] for step in job["steps"] if "run" in step]
    return [run.removeprefix("evalnb ") for run in runs if run.startswith("evalnb ")]
