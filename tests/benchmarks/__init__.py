"""Figures: how fast evalnb is, how much memory it takes, and what a kill loses.

They are no tests and never collected: `python -m tests.benchmarks` measures them all, each module
measures its own. Whatever answers is `tests.standin`, on the same machine, in the same run.
"""
