"""Names that light modules share with heavy ones."""

__all__ = ["LOCAL_MODEL", "LOCAL_NOTICE"]

LOCAL_MODEL = "smollm2-135m-instruct"
"""The id under which the local model answers."""

LOCAL_NOTICE = "Recorded from a 135M-parameter local model, expect poor answers."
"""What every report says where answers of the local model appear."""
