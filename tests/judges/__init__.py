"""Tests of the judges."""
