"""All figures, as a Markdown table and as JSON."""

from __future__ import annotations

from tests.benchmarks import (
    curation,
    faults,
    gate_statistics,
    history,
    imports,
    judging,
    kappa,
    kills,
    labelling,
    live,
    merging,
    operating_characteristics,
    phrases,
    phrases_power,
    planted_defects,
    production,
    redaction,
    replay,
    review,
    scale,
)
from tests.benchmarks.figures import report

if __name__ == "__main__":
    report(
        live.measure,
        replay.measure,
        scale.measure,
        imports.measure,
        faults.measure,
        kills.measure,
        judging.measure,
        merging.measure,
        labelling.measure,
        kappa.measure,
        phrases.measure,
        phrases_power.measure,
        curation.measure,
        redaction.measure,
        production.measure,
        gate_statistics.measure,
        history.measure,
        review.measure,
        operating_characteristics.measure,
        planted_defects.measure,
    )
