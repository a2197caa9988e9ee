"""The configuration, in ECA's own files and keys (ECA 3.13): what it holds, where it is read from, the agents."""

from jupyter_eca.config.agents import Agent, agent, agents, primary
from jupyter_eca.config.keys import (
    AgentConfig,
    Config,
    McpServerConfig,
    ModelConfig,
    ProviderConfig,
    RetryRule,
    ToolCallConfig,
    VariantSet,
)
from jupyter_eca.config.layers import read
from jupyter_eca.config.merging import merge
from jupyter_eca.config.watch import watch

__all__ = [
    "Agent",
    "AgentConfig",
    "Config",
    "McpServerConfig",
    "ModelConfig",
    "ProviderConfig",
    "RetryRule",
    "ToolCallConfig",
    "VariantSet",
    "agent",
    "agents",
    "merge",
    "primary",
    "read",
    "watch",
]
