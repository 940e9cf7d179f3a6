"""Presidio's invented sentences, and where personal data is in them."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

from evalnb.curation.redaction.recognizers import KINDS
from evalnb.curation.redaction.spans import Span

_PATH = Path(__file__).parents[2] / "data" / "redaction" / "presidio_synth_pii.jsonl.gz"


def gold() -> tuple[list[str], list[list[Span]]]:
    """Return the texts, and the spans of each."""
    lines = gzip.decompress(_PATH.read_bytes()).decode().splitlines()
    records = [json.loads(line) for line in lines]
    spans = [
        [
            Span(
                one["start_position"],
                one["end_position"],
                KINDS.get(one["entity_type"], one["entity_type"]),
            )
            for one in record["spans"]
        ]
        for record in records
    ]
    return [record["text"] for record in records], spans
