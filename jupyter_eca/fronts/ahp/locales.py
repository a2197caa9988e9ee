"""Owns the texts that users see in clients of the Agent Host Protocol, in each language that we have. They are about
the approval of tool calls. Texts for the model are not here.

It must not know a session. `session/tool_calls.py` uses the texts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class Wording:
    """The texts in one language."""

    allow: str
    """The label of the option that approves a tool call."""

    remember: str
    """The label of the option that approves a tool call and similar calls in the same session."""

    deny: str
    """The label of the option that denies a tool call."""

    denied_by_rule: str
    """Says that the approval rules deny the call."""

    denied_unattended: str
    """Says that the call needed approval, and no user was there to give it."""

    denied_by_hook: str
    """Says that a hook of the user denies the call."""

    skipped_after_failure: str
    """Says that the call did not run, because a call before it failed or was denied."""

    only_proposed: str
    """Says that the call is a proposal, because the agent only plans."""


ENGLISH: Final = "en"
# The texts by the language, which is the first part of a BCP 47 tag.
LANGUAGES: Final[Mapping[str, Wording]] = {
    ENGLISH: Wording(
        "Allow",
        "Allow in this session",
        "Deny",
        "The rules of the configuration forbid this call.",
        "Nobody was there to approve the call.",
        "A hook forbids this call.",
        "A call before it failed or was denied.",
        "Proposed only: plan mode changes nothing.",
    ),
    "de": Wording(
        "Erlauben",
        "In dieser Sitzung erlauben",
        "Ablehnen",
        "Die Regeln der Konfiguration verbieten diesen Aufruf.",
        "Niemand war da, um den Aufruf zu erlauben.",
        "Ein Hook verbietet diesen Aufruf.",
        "Ein Aufruf davor ist fehlgeschlagen oder wurde abgelehnt.",
        "Nur vorgeschlagen: Der Planungsmodus ändert nichts.",
    ),
    "es": Wording(
        "Permitir",
        "Permitir en esta sesión",
        "Denegar",
        "Las reglas de la configuración prohíben esta llamada.",
        "No había nadie para aprobar la llamada.",
        "Un hook prohíbe esta llamada.",
        "Una llamada anterior falló o fue denegada.",
        "Solo propuesta: el modo de planificación no cambia nada.",
    ),
    "fr": Wording(
        "Autoriser",
        "Autoriser dans cette session",
        "Refuser",
        "Les règles de la configuration interdisent cet appel.",
        "Personne n'était là pour autoriser l'appel.",
        "Un hook interdit cet appel.",
        "Un appel précédent a échoué ou a été refusé.",
        "Seulement proposé : le mode de planification ne change rien.",
    ),
    "ja": Wording(
        "許可",
        "このセッションで許可",
        "拒否",
        "設定の規則により、この呼び出しは禁止されています。",
        "呼び出しを承認する人がいませんでした。",
        "フックにより、この呼び出しは禁止されています。",
        "前の呼び出しが失敗したか、拒否されました。",
        "提案のみです。計画モードでは何も変更されません。",
    ),
    "zh": Wording(
        "允许",
        "在此会话中允许",
        "拒绝",
        "配置规则禁止此调用。",
        "没有人可以批准此调用。",
        "钩子禁止此调用。",
        "之前的调用失败或被拒绝。",
        "仅为提议。计划模式不会更改任何内容。",
    ),
}


def choose_language(locale: str | None) -> str:
    """Return the language of a BCP 47 tag such as `de-AT`. Return English if we have no texts in this language."""
    language = (locale or "").partition("-")[0].casefold()
    return language if language in LANGUAGES else ENGLISH
