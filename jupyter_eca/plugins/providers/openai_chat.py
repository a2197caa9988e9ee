"""Every server that speaks OpenAI's Chat Completions API. Owns the names of those that are known; the rest is as with
OpenAI itself."""

from __future__ import annotations

from typing import Final

from jupyter_eca.plugins.providers.completions.events import CompletionsReader
from jupyter_eca.plugins.providers.completions.request import body
from jupyter_eca.plugins.providers.openai import OpenAIApi, OpenAIProvider
from jupyter_eca.plugins.providers.presets import CHAT

CHAT_COMPLETIONS: Final = OpenAIApi("OpenAI Chat Completions API", "/chat/completions", "", body, CompletionsReader)

PROVIDER = OpenAIProvider("openai-chat", CHAT_COMPLETIONS, CHAT, rank=25)
