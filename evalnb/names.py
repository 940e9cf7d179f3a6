"""Names that light modules share with heavy ones."""

__all__ = ["DEFAULT_JUDGE_MODEL", "LOCAL_MODEL", "LOCAL_NOTICE", "family"]

LOCAL_MODEL = "smollm2-135m-instruct"
"""The id under which the local model answers."""

LOCAL_NOTICE = "Recorded from a 135M-parameter local model, expect poor answers."
"""What every report says where answers of the local model appear."""

DEFAULT_JUDGE_MODEL = "claude-sonnet-5-5"
"""What is asked for verdicts where neither a judge's file nor the suite names a model."""


def family(model: str) -> str:
    """Return what models of one maker and line have in common: the name before the first dash.

    Examples
    --------
    >>> family("claude-haiku-5-5"), family("smollm2-135m-instruct")
    ('claude', 'smollm2')
    """
    return model.partition("-")[0].lower()
