"""Candidates for a golden set: which conversations to look at, and why."""
