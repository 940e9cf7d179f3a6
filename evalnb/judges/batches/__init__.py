"""Live calls through the Message Batches API, at half price and within hours.

The transport stands below the cassette: who asks sees one response to one request, and journal
and cassettes keep it like any other. Many requests wait at once, so nothing above it may limit how
many are under way.

Which request is in which batch is on disk before anybody waits for it, so that a run that was
killed fetches what it sent and sends nothing twice. A request is known by its custom id, the key
of its canonical form and a number that tells equal requests apart; equal requests may take each
other's results, and each result is given once.
"""

from evalnb.judges.batches.transport import BatchTransport

__all__ = ["BatchTransport"]
