"""The configuration, in ECA's own files and keys (ECA 3.13): what it holds, where it is read from, the agents."""

from jupyter_eca.config.agentcheck import place, problems
from jupyter_eca.config.agents import Agent, agent, agents, primary, spawnable
from jupyter_eca.config.holding import held, make_known
from jupyter_eca.config.keys import AgentConfig, Config, McpServerConfig, ToolCallConfig, VariantSet
from jupyter_eca.config.layers import read
from jupyter_eca.config.merging import merge
from jupyter_eca.config.vendors import ModelConfig, ProviderConfig, RetryRule
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
    "held",
    "make_known",
    "merge",
    "place",
    "primary",
    "problems",
    "read",
    "spawnable",
    "watch",
]
