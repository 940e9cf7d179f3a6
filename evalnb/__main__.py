"""`python -m evalnb`."""

from evalnb.cli import main

main()
