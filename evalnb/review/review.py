"""The monthly review of a suite: all that it looks at, computed when it is first asked for."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from evalnb.ageing import OLD_DAYS, propose_pruning, suite_ages
from evalnb.baseline import CASE, read_baseline
from evalnb.certificates import read_certificates
from evalnb.curation.coverage import golden_coverage
from evalnb.curation.labels import read_labels
from evalnb.frames import LABELS
from evalnb.histories import case_history, history
from evalnb.places import is_remote
from evalnb.planning import plan
from evalnb.ratings import RATINGS
from evalnb.review.changes import blocked_spells, changes_of, runs_of
from evalnb.review.kappas import kappas_over_time
from evalnb.review.newest import newest_run
from evalnb.review.plane import coverage_points
from evalnb.review.reasons import months_of, reasons_over_time
from evalnb.review.refreshing import kept_by_states, propose_refresh
from evalnb.review.spending import spending_by_month
from evalnb.review.standing import standing_at
from evalnb.review.states import case_states, falling_cases
from evalnb.review.traffic import FEEDBACK, drawn_traffic, feedback_by_category
from evalnb.stats.creep import creep
from evalnb.study import Study
from evalnb.suite_study import suite_study
from evalnb.waivers import read_waivers

if TYPE_CHECKING:
    from datetime import date
    from pathlib import Path

    import pandas as pd

    from evalnb.curation.coverage import Coverage
    from evalnb.errors import Problem
    from evalnb.golden import GoldenSet
    from evalnb.planning import Plan
    from evalnb.runs import Run

__all__ = ["NO_STUDY", "Review"]

NO_STUDY = "No labels beside verdicts: no advice."

_MOST = 5


@dataclass(frozen=True)
class Review:
    """What the monthly review of a suite looks at.

    Attributes
    ----------
    golden : the suite
    root : of its results
    as_of : the day of the review; later runs are left out
    logs : a logs frame; without rows where there are none
    budget_usd : of a month
    """

    golden: GoldenSet
    root: Path
    as_of: date
    logs: pd.DataFrame
    budget_usd: float | None = None

    @cached_property
    def history(self) -> pd.DataFrame:
        """As `evalnb.history` gives it."""
        found = history(self.golden, self.root)
        kept = found["at"].str[:10].le(self.as_of.isoformat()).fillna(value=False)
        return found[kept].reset_index(drop=True)

    @cached_property
    def runs(self) -> pd.DataFrame:
        """A row a run: its pass rate of cases."""
        return runs_of(self.history)

    @cached_property
    def cases(self) -> pd.DataFrame:
        """As `evalnb.case_history` gives it."""
        return case_history(self.golden, self.runs["run_id"].tolist(), self.root)

    @property
    def synthetic(self) -> str:
        """How runs were made that nobody ran; empty where there are none."""
        return next(iter(self.history["synthetic"].dropna().unique()), "")

    @cached_property
    def changes(self) -> pd.DataFrame:
        """As `changes_of` gives it."""
        return changes_of(self.history)

    @cached_property
    def spells(self) -> pd.DataFrame:
        """As `blocked_spells` gives it."""
        return blocked_spells(self.history, self.cases)

    @cached_property
    def falling(self) -> pd.DataFrame:
        """As `falling_cases` gives it."""
        return falling_cases(self.history, self.cases)

    @cached_property
    def creep(self) -> pd.DataFrame:
        """The pass rate since the first run that can be compared with the last, as `creep` gives it."""
        same = self.runs[self.runs["series"] == self.runs["series"].max()]
        own = self.cases[(self.cases["scorer"] == CASE) & self.cases["run_id"].isin(same["run_id"])]
        return creep(own.rename(columns={"run_id": "run"})[["run", "case_id", "value"]])

    @cached_property
    def reasons(self) -> pd.DataFrame:
        """What was said of the falling cases at the end of each month."""
        runs = self._last_of_months(self.runs)
        days = dict(zip(self.runs["run_id"], self.runs["at"].str[:10], strict=True))
        dated = [(days[run_id], run_id) for _, run_id in runs]
        return reasons_over_time(self.golden, self.root, dated, self.falling["case_id"].tolist())

    @cached_property
    def states(self) -> pd.DataFrame:
        """As `case_states` gives it."""
        return case_states(self.history, self.cases, self.falling["case_id"].tolist())

    @property
    def labels(self) -> pd.DataFrame:
        """All labels up to the day; without rows where there are none."""
        labels, _ = self._read_labels
        return labels[labels["at"].str[:10] <= self.as_of.isoformat()].reset_index(drop=True)

    @cached_property
    def _read_labels(self) -> tuple[pd.DataFrame, list[Problem]]:
        folder = self.golden.folder
        if folder is None or is_remote(folder) or not (folder / "labels").is_dir():
            return LABELS.empty(), []
        return read_labels(self.golden)

    @cached_property
    def kappas(self) -> pd.DataFrame:
        """As `kappas_over_time` gives it."""
        judged = self.history[self.history["judge_fingerprint"].notna()]
        runs = self._last_of_months(judged.drop_duplicates("run_id"))
        return kappas_over_time(self.golden, self.root, runs, self.labels)

    @cached_property
    def expires(self) -> date | None:
        """The last day of the certificate that holds longest."""
        return max((one.expires for one in read_certificates(self.golden)), default=None)

    @cached_property
    def ages(self) -> pd.DataFrame:
        """As `suite_ages` gives it."""
        return suite_ages(self.golden, self.as_of)

    @cached_property
    def pruning(self) -> pd.DataFrame:
        """As `propose_pruning` gives it, of cases older than 180 days that the last runs let pass."""
        by_baseline = propose_pruning(
            self.golden,
            self.ages,
            read_baseline(self.golden),
            older_than_days=OLD_DAYS,
            waived=[waiver.case for waiver in read_waivers(self.golden)],
        )
        return kept_by_states(by_baseline, self.states)

    @cached_property
    def refresh(self) -> pd.DataFrame:
        """As `propose_refresh` gives it, of cases older than 180 days."""
        going = self.pruning["proposed"].fillna(value=False).astype(bool)
        return propose_refresh(
            self.golden,
            self.ages,
            self.states,
            unasked=set(self.coverage.unasked["case_id"]),
            pruned=set(self.pruning.loc[going, "case_id"]),
        )

    @cached_property
    def coverage(self) -> Coverage:
        """As `golden_coverage` gives it, of the traffic that is drawn."""
        return golden_coverage(self.drawn, self.golden)

    @cached_property
    def drawn(self) -> pd.DataFrame:
        """The part of the logs that is compared with cases, as `drawn_traffic` gives it."""
        return drawn_traffic(self.logs)

    @cached_property
    def plane(self) -> pd.DataFrame:
        """As `coverage_points` gives it."""
        far = self.coverage.far["conversation_id"].tolist()
        return coverage_points(self.drawn, self.golden, far)

    @cached_property
    def feedback(self) -> pd.DataFrame:
        """As `feedback_by_category` gives it."""
        run = self.newest
        return FEEDBACK.empty() if run is None else feedback_by_category(self.logs, run.results)

    @property
    def newest(self) -> Run | None:
        """The newest run that can be read, None before the first."""
        return self._newest[0]

    @cached_property
    def _newest(self) -> tuple[Run | None, list[str]]:
        return newest_run([self._folder(run_id) for run_id in self.runs["run_id"]])

    @cached_property
    def standing(self) -> pd.DataFrame:
        """As `standing_at` gives it."""
        return standing_at(self.golden, self.history, self.as_of)

    @cached_property
    def spending(self) -> pd.DataFrame:
        """As `spending_by_month` gives it."""
        return spending_by_month(self.history, self.as_of, self.budget_usd)

    @cached_property
    def plan(self) -> Plan:
        """What the next live run could find."""
        return plan(self.golden, read_baseline(self.golden))

    @cached_property
    def study(self) -> Study:
        """People's labels beside the newest verdicts, on the axis with the least agreement shown."""
        judged = self.history[self.history["judge_fingerprint"].notna()]["run_id"].unique()
        run, _ = newest_run([self._folder(run_id) for run_id in judged])
        if run is None or self.labels.empty:
            return Study(self.golden.settings.name, "", RATINGS.empty(), {}, needs=NO_STUDY)
        study = suite_study(self.golden, [self._folder(run.manifest["run_id"])])
        shown = study.decided.dropna(subset=["ci_low"]).sort_values("ci_low", kind="stable")
        axis = str(shown["axis"].iloc[0]) if len(shown) else study.axis
        return replace(study, axis=axis)

    @property
    def needs(self) -> list[str]:
        """What is missing, and how to get it, in words."""
        found = [*self._newest[1]]
        if self.runs.empty:
            found.append(
                f"There is no run up to {self.as_of}: trends need nightly runs, such as `evalnb run SUITE --mode live`. "
                "To see what they look like: `evalnb demo-history FOLDER`."
            )
        found += [f"A label was left out: {problem}" for problem in self._read_labels[1][:_MOST]]
        if self.labels.empty:
            found.append(
                f"There are no labels up to {self.as_of}: kappa needs ratings by people; open label.ipynb."
            )
        if self.logs.empty:
            found.append(
                "There are no logs: uncovered traffic and users' feedback need them; give `logs`."
            )
        return found

    def _last_of_months(self, runs: pd.DataFrame) -> list[tuple[str, str]]:
        return months_of(runs) if len(runs) else []

    def _folder(self, run_id: str) -> Path:
        return self.root / self.golden.settings.name / run_id
