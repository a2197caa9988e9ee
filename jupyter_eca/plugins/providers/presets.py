"""Owns the data of known providers: their names, URLs and best models.

A configuration with the same name changes single fields of a provider. Other models than the listed ones can be used by
their names. It must not send a request: `openai` and `openai_chat` do.
"""

from __future__ import annotations

from typing import Any, Final

from pydantic import SecretStr

from jupyter_eca._version import __version__
from jupyter_eca.config import ModelConfig, ProviderConfig
from jupyter_eca.plugins.providers.base import Preset


def _make_preset(
    label: str,
    url: str | None,
    *models: str,
    variable: str = "",
    free: bool = False,
    browser_sign_in: bool = False,
    owner: str = "",
    small_model: str = "",
    model: ModelConfig | None = None,
    requires_auth: bool = True,
    **more: Any,
) -> Preset:
    """Make a known provider. `models` are its best models, the best one first, and `model` has the settings of each
    model. `requires_auth` says whether it needs a key, and `more` are further settings of the provider. See `Preset`
    for the other arguments."""
    known = dict.fromkeys(models, model or ModelConfig())
    settings = ProviderConfig(url=url, models=known, requires_auth=requires_auth, **more)
    return Preset(label, settings, variable, free, browser_sign_in, owner, small_model)


# The providers that speak OpenAI's Responses API.
RESPONSES: Final = {
    "openai": _make_preset(
        "OpenAI",
        "https://api.openai.com/v1",
        "gpt-6.2-sol",
        "gpt-6.2-astra",
        "gpt-6.1-terra",
        "gpt-6-luna",
        small_model="gpt-6-luna",
    ),
    "litellm": _make_preset("LiteLLM", None),
}

# The providers that speak OpenAI's Chat Completions API.
CHAT: Final = {
    "openrouter": _make_preset("OpenRouter", "https://openrouter.ai/api/v1", "openrouter/auto", browser_sign_in=True),
    "google": _make_preset(
        "Google",
        "https://generativelanguage.googleapis.com/v1beta/openai",
        "gemini-3.8-flash",
        "gemini-3.1-pro-preview",
        variable="GEMINI_API_KEY",
        small_model="gemini-3.8-flash",
        # If the request asks for thoughts, these models write them into the answer, between these tags. Other models of
        # Google do not, so models that a user adds are not asked for thoughts.
        think_tag_start="<thought>",
        think_tag_end="</thought>",
        model=ModelConfig(extra_payload={"extra_body": {"google": {"thinking_config": {"include_thoughts": True}}}}),
    ),
    "deepseek": _make_preset(
        "DeepSeek", "https://api.deepseek.com", "deepseek-chat", "deepseek-reasoner", small_model="deepseek-chat"
    ),
    # Mistral always counts tokens, and refuses requests with the unknown key `stream_options`.
    "mistral": _make_preset(
        "Mistral",
        "https://api.mistral.ai/v1",
        "mistral-large-latest",
        "mistral-medium-latest",
        "mistral-small-latest",
        small_model="mistral-small-latest",
        extra_payload={"stream_options": None},
    ),
    "lmstudio": _make_preset("LM Studio", "http://127.0.0.1:1234/v1", requires_auth=False, free=True),
    "vllm": _make_preset("vLLM", "http://127.0.0.1:8000/v1", requires_auth=False, free=True, owner="vllm"),
    "llamacpp": _make_preset("llama.cpp", "http://127.0.0.1:8080/v1", requires_auth=False, free=True, owner="llamacpp"),
}

# The provider of the plug `azure`. Its URL is that of the user's own resource.
AZURE: Final = {"azure": _make_preset("Azure", None, completion_url_relative_path="/openai/v1/responses")}

# The headers of ECA: GitHub asks which editor signs in, and Copilot asks for each request which of GitHub's own clients
# sends it. Copilot knows no id for other clients.
COPILOT_EDITOR: Final = {"Editor-Version": f"jupyter-eca/{__version__}", "Editor-Plugin-Version": "jupyter-eca/*"}
# The headers of each request to Copilot.
_COPILOT_REQUEST: Final = {
    **COPILOT_EDITOR,
    "Copilot-Integration-Id": "vscode-chat",
    "Copilot-Vision-Request": "true",
    "OpenAI-Intent": "conversation-panel",
}

# The provider of the plug `github_copilot`.
COPILOT: Final = {
    "github-copilot": _make_preset(
        "GitHub Copilot",
        "https://api.githubcopilot.com",
        "claude-sonnet-4.5",
        "gpt-5.2",
        "gpt-5-mini",
        "gpt-4.1",
        small_model="gpt-5-mini",
        extra_headers={name: SecretStr(value) for name, value in _COPILOT_REQUEST.items()},
    )
}

# How the keys of known vendors begin. A key is recognised by the longest beginning that fits. Some vendors share one:
# then the first of them is proposed, and the user can choose another.
KEY_PREFIXES: Final[dict[str, tuple[str, ...]]] = {
    "anthropic": ("sk-ant-",),
    "openai": ("sk-proj-", "sk-svcacct-", "sk-"),
    "openrouter": ("sk-or-",),
    "google": ("AIza", "AQ."),
    "deepseek": ("sk-",),
}
