"""Watching production: logged answers scored like those of the golden set."""
