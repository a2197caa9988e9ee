"""The provider of all servers that speak OpenAI's Chat Completions API. `openai` has the connection, `completions/` the
messages of the API, and `presets` the known servers.
"""

from __future__ import annotations

from typing import Final

from jupyter_eca.plugins.providers.completions.events import CompletionsReader
from jupyter_eca.plugins.providers.completions.request import build_body
from jupyter_eca.plugins.providers.openai import OpenAIApi, OpenAIProvider
from jupyter_eca.plugins.providers.presets import CHAT

# The API, with its path and the functions that write requests and read answers.
CHAT_COMPLETIONS: Final = OpenAIApi(
    "OpenAI Chat Completions API", "/chat/completions", "", build_body, CompletionsReader
)

PROVIDER = OpenAIProvider("openai-chat", CHAT_COMPLETIONS, CHAT, rank=25)
