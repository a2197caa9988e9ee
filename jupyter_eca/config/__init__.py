"""Owns the configuration in ECA's own files and keys (ECA 3.13): its schema, its files, the agents and stored keys.

ECA (Editor Code Assistant) is an assistant for editors. We read its files, so the configuration of its users works here
too. This room must not know the host. `engine` is its neighbour: it has the approval policy that the configuration
fills.
"""

from jupyter_eca.config.agent_checks import find_problems, locate_problem
from jupyter_eca.config.agents import Agent
from jupyter_eca.config.layers import read_config
from jupyter_eca.config.merge import merge
from jupyter_eca.config.outside.outside_agents import OutsideAgent
from jupyter_eca.config.provider_schema import ModelConfig, ProviderConfig, RetryRule
from jupyter_eca.config.resolved import ResolvedConfig, resolve
from jupyter_eca.config.schema import AgentConfig, Config, McpServerConfig, ToolCallConfig, VariantSet
from jupyter_eca.config.secret_fields import iter_secrets, register_secrets
from jupyter_eca.config.watch import watch

__all__ = [
    "Agent",
    "AgentConfig",
    "Config",
    "McpServerConfig",
    "ModelConfig",
    "OutsideAgent",
    "ProviderConfig",
    "ResolvedConfig",
    "RetryRule",
    "ToolCallConfig",
    "VariantSet",
    "find_problems",
    "iter_secrets",
    "locate_problem",
    "merge",
    "read_config",
    "register_secrets",
    "resolve",
    "watch",
]
