"""Production logs of any usual form, read into the logs frame."""
