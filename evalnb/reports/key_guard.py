"""Keys for plain widgets in JupyterLab, which else takes arrows and letters for its cells."""

from __future__ import annotations

import anywidget

__all__ = ["KeyGuard"]

_FRONT = """
function guard(el) {
  if (!el.isConnected) return void requestAnimationFrame(() => guard(el));
  const box = el.closest(".widget-vbox") ?? el.parentElement;
  box.dataset.lmSuppressShortcuts = "true";
  box.addEventListener("keydown", (event) => {
    if (!event.ctrlKey && !event.metaKey) event.stopPropagation();
  });
}
export default { render({ el }) { el.hidden = true; guard(el); } };
"""


class KeyGuard(anywidget.AnyWidget):
    """A child without a face: the vertical box that holds it keeps its keys to itself."""

    _esm = _FRONT
