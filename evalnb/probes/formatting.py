"""Does the judge like a layout: the same words as a list, and in bold."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalnb.probes.base import Probe, Variant, changed, unchanged
from evalnb.probes.texts import sentences

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from evalnb.probes.base import Item

__all__ = ["Formatting"]


class Formatting(Probe):
    """Sets the sentences of the answer as a list and in bold; every word stays."""

    name = "formatting"
    advice = "Say in the rubric that a layout earns nothing, or take the marks out before judging."

    def variants(self, items: Sequence[Item]) -> Iterator[Variant]:
        """Yield the answer, the list and the bold one."""
        for item in items:
            parts = sentences(item.text)
            yield unchanged(item)
            yield changed(item, "list", "\n".join(f"- {part}" for part in parts))
            yield changed(item, "bold", "\n\n".join(f"**{part}**" for part in parts))
