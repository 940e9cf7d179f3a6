"""The system under test: anything that answers a case through a client."""

from evalnb.systems.callables import CallableSystem
from evalnb.systems.loading import load_system, suite_systems
from evalnb.systems.outputs import STEP_LIMIT, DirectSystem, ModelAccess, Output, System, ToolCall
from evalnb.systems.prompt_files import PromptSystem

__all__ = [
    "STEP_LIMIT",
    "CallableSystem",
    "DirectSystem",
    "ModelAccess",
    "Output",
    "PromptSystem",
    "System",
    "ToolCall",
    "load_system",
    "suite_systems",
]
