"""Know whether your LLM application got worse, prove it, and block it."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
