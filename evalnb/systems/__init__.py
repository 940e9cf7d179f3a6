"""The system under test: anything that answers a case through a client."""

from evalnb.systems.callables import CallableSystem
from evalnb.systems.loading import load_system, suite_systems
from evalnb.systems.outputs import STEP_LIMIT, Output, System, ToolCall
from evalnb.systems.prompt_files import PromptSystem

__all__ = [
    "STEP_LIMIT",
    "CallableSystem",
    "Output",
    "PromptSystem",
    "System",
    "ToolCall",
    "load_system",
    "suite_systems",
]
