"""All figures, as a Markdown table and as JSON."""

from __future__ import annotations

from tests.benchmarks import (
    faults,
    gate_statistics,
    imports,
    judging,
    kills,
    live,
    operating_characteristics,
    replay,
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
        gate_statistics.measure,
        operating_characteristics.measure,
    )
