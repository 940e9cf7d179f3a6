"""A support bot as people write them, to be evaluated as it is."""
