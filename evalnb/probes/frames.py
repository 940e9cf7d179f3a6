"""The frames of probes."""

from __future__ import annotations

from evalnb.frames import FrameSchema

__all__ = ["PROBE_EFFECTS", "PROBE_VERDICTS"]

PROBE_VERDICTS = FrameSchema(
    "probe verdicts",
    {
        "judge": "string",
        "probe": "string",
        "case_id": "string",
        "variant": "string",
        "family": "string",
        "role": "string",
        "language": "string",
        "scorer": "string",
        "judge_repeat": "Int64",
        "value": "Float64",
        "low": "Float64",
        "high": "Float64",
        "passed": "boolean",
        "better": "string",
        "dose": "Float64",
        "n_characters": "Int64",
        "n_characters_other": "Int64",
        "reason": "string",
        "judge_model": "string",
        "judge_model_answered": "string",
        "judge_fingerprint": "string",
        "cost_usd": "Float64",
        "mode": "string",
        "request_key": "string",
        "na_reason": "string",
        "error": "string",
    },
    key=("judge", "probe", "case_id", "variant", "scorer", "judge_repeat"),
)
"""A row a variant, scorer and repeat of the verdict.

`value` is the level that the judge gave, between `low` and `high`; `passed` is by the suite's own
rule. Of pairs, `better` is `first`, `second` or `tie`, by place, and `value` is missing. `role` is
`unchanged`, `changed` or `control`; `dose` is how much was changed. Where there is no verdict,
`na_reason` says why. `cost_usd` is the row's share of what the call cost; probes that show the
same share its rows and say its cost again.
"""

PROBE_EFFECTS = FrameSchema(
    "probe effects",
    {
        "judge": "string",
        "judge_fingerprint": "string",
        "probe": "string",
        "scorer": "string",
        "variant": "string",
        "metric": "string",
        "unit": "string",
        "span": "Float64",
        "headline": "boolean",
        "estimate": "Float64",
        "ci_low": "Float64",
        "ci_high": "Float64",
        "upper": "Float64",
        "n": "Int64",
        "n_left_out": "Int64",
        "n_failed": "Int64",
        "floor": "Float64",
        "net": "Float64",
        "net_low": "Float64",
        "net_high": "Float64",
        "n_net": "Int64",
        "p": "Float64",
        "p_holm": "Float64",
        "real": "boolean",
        "matters": "boolean",
        "method": "string",
        "reason": "string",
        "warnings": "object",
    },
    key=("judge", "probe", "scorer", "variant", "metric"),
)
"""A row an effect: what a change does to a judge's verdict, and what its own noise does.

`unit` is `level` (levels of the scale) or `rate` (a share, or a difference of shares); `span` is how
many levels lie between the lowest and the highest, NA of a rate. `floor` is
the same figure of mere repeats or of a harmless control, 0 where the right effect is 0 by
construction; `net` is the effect minus the floor, over the `n_net` that have both; both have 95%
intervals. `upper`, of shares alone, is the one-sided 95% bound. `p` is of no net effect, `p_holm` after Holm: of headlines over all probes of the judge and scorer, of
other rows within their probe. `real` says that the net effect is none of chance (`p_holm` up to
0.05), `matters` that it is also larger than 0.25 of a level or 5 points of a rate. `n` counts what
an effect is over, `n_left_out` what has no verdict on one of its sides, `n_failed` the judge's
failures among all verdicts that the row rests on.
"""
