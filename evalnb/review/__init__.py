"""The monthly review: what changed over the runs of a suite, and what to do about it."""
