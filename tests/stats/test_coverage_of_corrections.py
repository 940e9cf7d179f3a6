"""How often intervals of corrected rates and means contain the truth, and what an audit saves.

The judge is right on 93% of what people pass and on 70% of what they fail.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.special import stdtrit

from evalnb.stats.audit import audit_strata, suggest_audit
from evalnb.stats.correction import corrected_pass_rate
from evalnb.stats.estimates import wilson
from evalnb.stats.post_stratified import Cells
from evalnb.stats.ppi import PredictionPowered, tuned_lambda
from tests.stats.reference import metric

SENSITIVITY, SPECIFICITY = 0.93, 0.7
N_CASES = 400


def counted_cells(rng: np.random.Generator, rate: float, n_labels: int, *, runs: int) -> Cells:
    fails = 1 - rate
    cells = [
        fails * SPECIFICITY,
        fails * (1 - SPECIFICITY),
        rate * (1 - SENSITIVITY),
        rate * SENSITIVITY,
    ]
    labelled = rng.multinomial(n_labels, cells, size=runs).reshape(runs, 2, 2)
    others = rng.multinomial(N_CASES - n_labels, cells, size=runs).reshape(runs, 2, 2)
    # people's label, then the judge's verdict; cells have an axis of strata before the verdict
    people_fail, people_pass = labelled[:, 0].astype(float), labelled[:, 1].astype(float)
    cases = (labelled + others).sum(1).astype(float)
    return Cells(cases[:, None], people_pass[:, None], people_fail[:, None])


@pytest.mark.parametrize("n_labels", [30, 50, 100])
@pytest.mark.parametrize("rate", [0.7, 0.8, 0.9, 0.95])
def test_the_post_stratified_interval_covers(rate: float, n_labels: int) -> None:
    rng = np.random.default_rng(20250101)
    cells = counted_cells(rng, rate, n_labels, runs=2000)
    low, high = cells.interval(rng, drawn=True, draws=800)
    assert 0.93 <= ((low <= rate) & (rate <= high)).mean() <= 0.97


@pytest.mark.parametrize(("n_strata", "n_labels"), [(4, 100), (10, 100), (10, 200)])
@pytest.mark.parametrize("even", [True, False], ids=["as many a stratum", "at random"])
def test_many_strata_do_not_outweigh_the_labels(n_strata: int, n_labels: int, even: bool) -> None:
    # With half a pass and half a fail for every cell it would be 68 to 87%.
    rng, runs = np.random.default_rng(20250105), 400
    weights = np.linspace(1, 4, n_strata) / np.linspace(1, 4, n_strata).sum()
    rates = np.linspace(0.7, 0.99, n_strata)
    counts = rng.multinomial(N_CASES, weights, size=runs)
    labelled = (
        np.minimum(n_labels // n_strata, counts)
        if even
        else np.array([rng.multivariate_hypergeometric(row, n_labels) for row in counts])
    )
    fails = 1 - rates
    chances = np.stack(
        [
            fails * SPECIFICITY,
            fails * (1 - SPECIFICITY),
            rates * (1 - SENSITIVITY),
            rates * SENSITIVITY,
        ],
        axis=-1,
    )
    shape = (runs, n_strata, 2, 2)
    seen = rng.multinomial(labelled, chances).reshape(shape).astype(float)
    others = rng.multinomial(counts - labelled, chances).reshape(shape)
    cells = Cells((seen + others).sum(2), seen[:, :, 1], seen[:, :, 0])
    low, high = cells.interval(rng, drawn=True, draws=500)
    truth = float(weights @ rates)
    assert ((low <= truth) & (truth <= high)).mean() >= 0.91


def pass_flags(
    rng: np.random.Generator, rate: float, n: int, *, runs: int
) -> tuple[np.ndarray, np.ndarray]:
    people = rng.random((runs, n)) < rate
    right = rng.random((runs, n)) < np.where(people, SENSITIVITY, SPECIFICITY)
    return people.astype(float), np.where(right, people, ~people).astype(float)


def covered(fit: PredictionPowered, truth: float, *, ddof: int, quantile: float) -> float:
    half = quantile * np.sqrt(fit.variance(ddof=ddof))
    return float((np.abs(fit.mean() - truth) <= half).mean())


@pytest.mark.parametrize(
    ("rate", "n_labels", "most"), [(0.9, 30, 0.87), (0.95, 30, 0.85), (0.95, 100, 0.92)]
)
def test_tuning_lambda_by_few_labels_covers_too_little_at_high_pass_rates(
    rate: float, n_labels: int, most: float
) -> None:
    rng = np.random.default_rng(20250102)
    labels, judged = pass_flags(rng, rate, n_labels, runs=2000)
    _, unlabelled = pass_flags(rng, rate, N_CASES - n_labels, runs=2000)
    lam = tuned_lambda(labels, judged, unlabelled)
    tuned = PredictionPowered(labels, judged, unlabelled, lam)
    assert covered(tuned, rate, ddof=0, quantile=1.959964) < most


SPREAD = [0.1, 0.15, 0.25, 0.3, 0.2]
TOP = [0.04, 0.05, 0.07, 0.14, 0.7]


@pytest.mark.parametrize("n_labels", [30, 50, 100])
@pytest.mark.parametrize("shares", [SPREAD, TOP], ids=["spread", "70% at the top"])
def test_prediction_powered_means_of_scores_cover(shares: list[float], n_labels: int) -> None:
    rng = np.random.default_rng(20250103)
    people = rng.choice([1.0, 2, 3, 4, 5], p=shares, size=(4000, 300))
    off = rng.choice([-1, 0, 1, 2], p=[0.15, 0.6, 0.2, 0.05], size=people.shape)
    judge = np.clip(people + off, 1, 5)
    labels, judged, unlabelled = people[:, :n_labels], judge[:, :n_labels], judge[:, n_labels:]
    truth = float(np.dot(shares, [1, 2, 3, 4, 5]))
    t = float(stdtrit(n_labels - 1, 0.975))
    plain = PredictionPowered(labels, judged, unlabelled)
    assert 0.93 <= covered(plain, truth, ddof=1, quantile=t) <= 0.97
    if shares is TOP and n_labels == 30:
        lam = tuned_lambda(labels, judged, unlabelled)
        tuned = PredictionPowered(labels, judged, unlabelled, lam)
        assert covered(tuned, truth, ddof=1, quantile=t) < 0.92


# The audit: 600 cases, 85% of them judged passed; people pass 97% of these and 35% of the others.

JUDGED = np.arange(600) < 510
TRUTH = np.concatenate([np.arange(510) < 495, np.arange(90) < 32])
RATE = TRUTH.mean()
IDS = np.array([f"c{i:03}" for i in range(600)])
CASES = pd.DataFrame({"case_id": IDS, "judged": JUDGED})
N_PILOT, N_MORE, RUNS = 30, 70, 60


def widths_of_random_labels(rng: np.random.Generator, n_labels: int, *, runs: int) -> float:
    sizes = np.array([[TRUTH & ~JUDGED, TRUTH & JUDGED], [~TRUTH & ~JUDGED, ~TRUTH & JUDGED]])
    counts = sizes.sum(-1)
    drawn = rng.multivariate_hypergeometric(counts.ravel(), n_labels, size=runs)
    passes, fails = drawn.reshape(runs, 2, 2).astype(float).transpose(1, 0, 2)[:, :, None]
    cases = np.broadcast_to(counts.sum(0).astype(float), passes.shape)
    low, high = Cells(cases, passes, fails).interval(rng, drawn=False, draws=1000)
    return float((high - low).mean())


def labels_without_judge(width: float) -> int:
    """The number of labels whose Wilson interval has a width."""
    for n in range(20, 600):
        found = wilson(n * RATE, n)
        assert found.ci_low is not None
        assert found.ci_high is not None
        if found.ci_high - found.ci_low <= width:
            return n
    raise AssertionError(width)


def test_an_audit_saves_labels_and_stays_unbiased() -> None:
    rng = np.random.default_rng(20250104)
    estimates, weighed, widths, covers, plain = [], [], [], [], []
    for seed in range(RUNS):
        chosen = rng.permutation(600)[:N_PILOT]
        pilot = pd.DataFrame({"case_id": IDS[chosen], "value": TRUTH[chosen]})
        audit = suggest_audit(CASES, pilot, n=N_MORE, seed=seed)
        more = audit["case_id"].str[1:].astype(int).to_numpy()
        labels = pd.Series(pd.NA, index=range(600), dtype="boolean")
        labels[chosen], labels[more] = TRUTH[chosen], TRUTH[more]
        row = metric(
            corrected_pass_rate(
                JUDGED, labels, strata=audit_strata(CASES), target="cases", seed=seed
            ),
            "corrected",
        )
        estimates.append(row["estimate"])
        widths.append(row["ci_high"] - row["ci_low"])
        covers.append(row["ci_low"] <= RATE <= row["ci_high"])
        by_chance = TRUTH[more] / audit["probability"].to_numpy(dtype=float)
        weighed.append((TRUTH[chosen].sum() + by_chance.sum()) / 600)
        plain.append(labels.mean())
    for values in (estimates, weighed):
        assert abs(np.mean(values) - RATE) < 3 * np.std(values) / np.sqrt(RUNS)
    assert np.mean(covers) >= 0.93
    # unweighed, the labels themselves tell a rate that is far too low
    assert np.mean(plain) < RATE - 0.05
    width = float(np.mean(widths))
    numbers = np.arange(90, 151, 15)
    random = [widths_of_random_labels(rng, int(n), runs=200) for n in numbers]
    needed = float(np.interp(-width, -np.array(random), numbers))
    # 100 labels do the work of about 120 that are drawn from all cases alike, of about 225 without the judge
    assert 113 < needed < 127
    assert 212 < labels_without_judge(width) < 242
