"""A webhook is told of a regression, and of nothing that was said; it never decides anything."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import date
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from evalnb.cli import app
from evalnb.evaluation import decided_run, evaluate, run_and_score
from evalnb.frames import DECISION, to_records
from evalnb.golden import read_golden
from evalnb.notices import regression_notice
from evalnb.runs import Run
from evalnb.systems import load_system
from evalnb.webhook import WEBHOOK, post_notice
from tests.suites import REPOSITORY

SECRET = "/services/T0SECRET/B0SECRET"
SUPPORT = REPOSITORY / "golden" / "support"


@dataclass
class Receiver:
    """A webhook on the loopback interface, and what it was sent."""

    url: str = ""
    status: int = 200
    location: str = ""
    hangs: threading.Event = field(default_factory=threading.Event)
    paths: list[str] = field(default_factory=list)
    bodies: list[dict[str, Any]] = field(default_factory=list)


@contextmanager
def receiver(status: int = 200, location: str = "", *, hang: bool = False) -> Iterator[Receiver]:
    found = Receiver(status=status, location=location)
    if not hang:
        found.hangs.set()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            found.paths.append(self.path)
            body = self.rfile.read(int(self.headers["content-length"]))
            found.bodies.append(json.loads(body))
            found.hangs.wait(30)
            self.send_response(found.status)
            if found.location:
                self.send_header("location", found.location)
            self.send_header("content-length", "0")
            self.end_headers()

        def do_GET(self) -> None:  # where a followed redirect would come in
            found.paths.append(self.path)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        found.url = f"http://127.0.0.1:{server.server_port}{SECRET}"
        yield found
        found.hangs.set()
        server.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def regressed() -> Run:
    golden = read_golden(SUPPORT)
    system = load_system(golden, "v2")
    return evaluate(golden, system, run_id="r-1", as_of=date(2026, 12, 1), progress="none")


def run_cli(tmp_path: Path, *options: str, url: str) -> Result:
    arguments = ["run", str(SUPPORT), "--no-notebook", "--results", str(tmp_path), *options]
    environment = {WEBHOOK: url, "CI": "true"}
    return CliRunner().invoke(app, arguments, env=environment)


def test_a_regression_is_posted_after_the_decision_and_the_url_is_nowhere(tmp_path: Path) -> None:
    with receiver() as hook:
        done = run_cli(tmp_path, "--system", "v2", url=hook.url)
    assert done.exit_code == 1
    assert hook.paths == [SECRET]
    (body,) = hook.bodies
    assert body["severity"] == "regression"
    assert body["exit_code"] == 1
    assert body["text"].startswith("REGRESSION: support: ")
    (report,) = tmp_path.glob("support/*/report.json")
    assert body["run_id"] == report.parent.name
    blocks = [row for row in json.loads(report.read_text())["decision"] if row["outcome"] == "fail"]
    assert sum(body["findings"].values()) == len(blocks)
    said = [done.output, *(path.read_text() for path in tmp_path.rglob("*") if path.is_file())]
    assert not any("T0SECRET" in text or WEBHOOK in text for text in said)


def test_a_run_that_passes_posts_nothing(tmp_path: Path) -> None:
    with receiver() as hook:
        assert run_cli(tmp_path, url=hook.url).exit_code == 0
    assert hook.bodies == []


@pytest.mark.parametrize(
    ("status", "said"),
    [(500, "answered with status 500"), (404, "answered with status 404"), (302, "redirects")],
)
def test_a_webhook_that_fails_is_a_warning_and_no_redirect_is_followed(
    status: int, said: str, regressed: Run
) -> None:
    with receiver() as elsewhere, receiver(status, elsewhere.url if status == 302 else "") as hook:
        why = post_notice(notice_of(regressed), {WEBHOOK: hook.url})
    assert why is not None
    assert said in why
    assert "SECRET" not in why
    assert (len(hook.bodies), elsewhere.paths) == (1, [])


def test_a_webhook_that_hangs_is_left(regressed: Run) -> None:
    with receiver(hang=True) as hook:
        why = post_notice(notice_of(regressed), {WEBHOOK: hook.url}, timeout_s=0.3)
    assert why == "the webhook gave no answer within 0.3 s"


@pytest.mark.parametrize(
    "url",
    [
        f"http://127.0.0.1:1{SECRET}",
        f"http://[bad{SECRET}",
        f"file://{SECRET}",
        f"http://127.0.0.1:99999{SECRET}",
    ],
)
def test_a_url_that_cannot_be_reached_is_a_warning_without_the_url(
    url: str, regressed: Run, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG):
        why = post_notice(notice_of(regressed), {WEBHOOK: url})
    assert why is not None
    assert "SECRET" not in why + caplog.text


def test_the_exit_code_is_that_of_the_run_when_nobody_could_be_told(tmp_path: Path) -> None:
    with receiver(500) as hook:
        done = run_cli(tmp_path, "--system", "v2", url=hook.url)
    assert done.exit_code == 1
    assert "warning: the webhook answered with status 500; nobody was told" in done.stderr


def test_nothing_that_was_asked_or_answered_is_in_it(regressed: Run) -> None:
    sent = json.dumps(notice_of(regressed), ensure_ascii=False)
    golden = read_golden(SUPPORT)
    texts = [
        *(case.input for case in golden if case.input),
        *(row["text"] for row in to_records(regressed.outputs) if row.get("text")),
        *(row["reason"] for row in to_records(regressed.decision) if "case_id" in row),
    ]
    assert len(texts) > 200
    assert not any(text in sent for text in texts if len(text) > 12)


def test_of_a_confidential_suite_no_case_is_named(regressed: Run) -> None:
    names = set(regressed.decision.loc[regressed.decision["outcome"] == "fail", "case_id"].dropna())
    public = notice_of(regressed)
    assert names.issuperset(public["cases"])
    assert public["cases"]
    hidden = notice_of(
        replace(regressed, manifest={**regressed.manifest, "privacy": "confidential"})
    )
    assert hidden["n_cases"] == len(names)
    assert not any(name in json.dumps(hidden) for name in names)


def test_an_unsafe_answer_has_a_severity_of_its_own() -> None:
    # Scripted: what an attack got out of the model is put in the place of a recorded answer.
    golden = read_golden(REPOSITORY / "golden" / "redteam")
    scored = run_and_score(golden, load_system(golden, None), run_id="r", progress="none")
    fooled = scored.scores["passed"].notna()
    scores = scored.scores.assign(passed=scored.scores["passed"].mask(fooled.cumsum() == 1, False))
    scores = scores.assign(reason=scores["reason"].fillna("scripted"))
    run = decided_run(golden, replace(scored, scores=scores), as_of=date(2026, 12, 1))
    notice = notice_of(run)
    assert notice["severity"] == "safety"
    assert notice["text"].startswith("SAFETY: redteam: safety ")


def test_marks_of_slack_in_names_are_no_mentions(regressed: Run) -> None:
    about = {**regressed.manifest, "system": "<!channel> & co"}
    assert (
        "system &lt;!channel&gt; &amp; co," in notice_of(replace(regressed, manifest=about))["text"]
    )


def test_what_is_only_reported_says_so(regressed: Run) -> None:
    text = notice_of(replace(regressed, exit_code=0))["text"]
    assert "reported only: shadow mode or an override holds" in text


def test_without_a_finding_there_is_no_notice(regressed: Run) -> None:
    assert regression_notice(replace(regressed, decision=DECISION.empty())) is None


def notice_of(run: Run) -> dict[str, Any]:
    notice = regression_notice(run)
    assert notice is not None
    return notice
