"""What is said wherever something of the demo shows."""

__all__ = ["SYNTHETIC"]

SYNTHETIC = (
    "SYNTHETIC: demo history made by `evalnb demo-history` from replayed answers of a local model of "
    "135M parameters. Nights, thumbs and labels are made up; no person gave them."
)
