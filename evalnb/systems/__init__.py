"""The system under test: anything that answers a case through a client."""

from evalnb.systems.callables import CallableSystem
from evalnb.systems.endpoints import HttpSystem
from evalnb.systems.loading import is_named, load_system, suite_systems
from evalnb.systems.mocks import MockedTools, mocked_tools
from evalnb.systems.outputs import (
    STEP_LIMIT,
    DirectSystem,
    ModelAccess,
    Output,
    System,
    ToolCall,
    as_output,
    output_content,
    output_hash,
)
from evalnb.systems.playing import play
from evalnb.systems.prompt_files import PromptSystem
from evalnb.systems.tool_loop import ToolError, run_tools, run_tools_sync

__all__ = [
    "STEP_LIMIT",
    "CallableSystem",
    "DirectSystem",
    "HttpSystem",
    "MockedTools",
    "ModelAccess",
    "Output",
    "PromptSystem",
    "System",
    "ToolCall",
    "ToolError",
    "as_output",
    "is_named",
    "load_system",
    "mocked_tools",
    "output_content",
    "output_hash",
    "play",
    "run_tools",
    "run_tools_sync",
    "suite_systems",
]
