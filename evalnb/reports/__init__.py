"""Reports: one writer a format, all from the same frames."""
