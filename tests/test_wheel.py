"""What people install: the wheel alone, away from the repository."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

from tests.suites import REPOSITORY, copy_of_support


def test_the_main_job_runs_from_the_wheel(tmp_path: Path) -> None:
    dist, installed, elsewhere = (tmp_path / name for name in ("dist", "installed", "elsewhere"))
    build = [
        sys.executable,
        "-m",
        "hatchling",
        "build",
        "--target",
        "wheel",
        "--directory",
        str(dist),
    ]
    subprocess.run(build, cwd=REPOSITORY, check=True, capture_output=True)
    (wheel,) = dist.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(installed)
    copy_of_support(elsewhere)
    environment = {name: value for name, value in os.environ.items() if name != "CI"}
    environment["PYTHONPATH"] = str(installed)

    where = subprocess.run(
        [sys.executable, "-c", "import evalnb; print(evalnb.__file__)"],
        cwd=elsewhere,
        env=environment,
        check=True,
        capture_output=True,
        text=True,
    )
    done = subprocess.run(
        [sys.executable, "-m", "evalnb", "run", "golden/support"],
        cwd=elsewhere,
        env=environment,
        check=False,
        capture_output=True,
        text=True,
    )

    assert Path(where.stdout.strip()) == installed / "evalnb" / "__init__.py"
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("support: PASS")
    (executed,) = (elsewhere / "results" / "support").glob("*/golden_run.ipynb")
    assert executed.stat().st_size > 0


def test_the_wheel_carries_what_runs_and_no_more(tmp_path: Path) -> None:
    build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel"]
    subprocess.run(
        [*build, "--directory", tmp_path], cwd=REPOSITORY, check=True, capture_output=True
    )
    (wheel,) = tmp_path.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert "evalnb/_notebooks/golden_run.ipynb" in names
    assert "evalnb/_notebooks/judge_agreement.ipynb" in names
    assert "evalnb/_notebooks/judge_bias.ipynb" in names
    assert {"evalnb/probes/attacks.toml", "evalnb/probes/texts.toml"} <= set(names)
    fronts = ("form_base.js", "label_form.js", "curation_form.js", "form.css")
    assert {f"evalnb/curation/{name}" for name in fronts} <= set(names)
    scaffold = REPOSITORY / "evalnb" / "scaffold"
    assert {name for name in names if name.startswith("evalnb/scaffold/files/")} == {
        path.relative_to(REPOSITORY).as_posix()
        for path in (scaffold / "files").rglob("*")
        if path.is_file()
    }
    data = [name for name in names if name.startswith("evalnb/datasets/")]
    assert sum(name.endswith(".gz") for name in data) == 18
    assert sum("/licences/" in name for name in data) == 6
    assert "evalnb/datasets/README.md" in names
    assert "evalnb/py.typed" in names
    assert "evalnb/__init__.pyi" in names
    assert any(name.endswith("licenses/LICENSE") for name in names)
    assert not any(name.startswith(("tests/", "golden/")) for name in names)
