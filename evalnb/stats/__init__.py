"""Statistics, each with its definition, range, undefined case and source."""
