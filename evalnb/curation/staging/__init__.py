"""From candidates to staged cases: what a person decides of each, and adding what was accepted."""
