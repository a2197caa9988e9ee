"""Owns `AppliedPolicy`: the policy documents that hold, and what they refuse while the program runs. Each refusal is a
sentence for the user.

It must not change a configuration: its neighbour `enforcement` does.
"""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Final

from pydantic import Field
from pydantic.alias_generators import to_snake

from jupyter_eca.config.policy.document import Feature, FeatureState, PatternLists, PolicyDocument
from jupyter_eca.config.policy.local_address import is_here, is_unclear, make_plain
from jupyter_eca.protocol.base import Model

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

UNKNOWN_ADDRESS: Final = "unknown:"
"""Stands for the address of a provider that only its plug knows. No pattern of an address allows it, except `*`."""

_REFUSAL: Final = "The policy of the administrator does not allow {what}."
_FEATURES: Final = {
    Feature.TRUST: "trust: each call is decided by the rules",
    Feature.ALLOW_RULES: "rules of your own that allow calls",
    Feature.TYPED_KEYS: "keys that users type in, or signing in",
    Feature.HOOKS: "hooks",
    Feature.CUSTOM_TOOLS: "custom tools",
    Feature.MCP_SERVERS: "MCP servers",
    Feature.OUTSIDE_AGENTS: "outside agents",
    Feature.AGENT_MODES: "choosing the mode of an outside agent",
    Feature.PROJECT_SETTINGS: "settings of projects that need trust",
    Feature.WEB_PAGES: "web pages",
    Feature.COMPLETIONS: "completions at the cursor",
    Feature.SANDBOX: "the sandbox",
}


def explain_refusal(document: PolicyDocument, what: str) -> str:
    """Return the sentence that a policy does not allow something. `what` completes it."""
    return " ".join(filter(None, (_REFUSAL.format(what=what), document.contact)))


class AppliedPolicy(Model):
    """The administrator's policy that holds for a configuration."""

    documents: tuple[PolicyDocument, ...] = Field(default=(), exclude=True, repr=False)
    """The documents. What one of them refuses is refused."""
    names: tuple[str, ...] = ()
    """The file or variable of each document."""
    locked: dict[str, str] = Field(default_factory=dict[str, str])
    """The keys of the configuration that the user cannot change, each with the reason. Dots join the names of a key."""
    limited: dict[str, str] = Field(default_factory=dict[str, str])
    """The keys of the configuration that the user cannot raise, each with the reason."""

    def refuse_feature(self, feature: Feature) -> str:
        """Return why a part of the assistant is off; "" if it is not."""
        off = (document for document in self.documents if document.features.get(feature) is FeatureState.FORCE_OFF)
        return next((explain_refusal(document, _FEATURES[feature]) for document in off), "")

    def refuse_provider(self, name: str) -> str:
        """Return why a provider cannot be used; "" if it can."""
        return self._refuse("providers", (name,), f"the provider `{name}`")

    def refuse_model(self, full_name: str) -> str:
        """Return why a model cannot be used; "" if it can. `full_name` is PROVIDER/MODEL."""
        provider = full_name.partition("/")[0]
        return self.refuse_provider(provider) or self._refuse("models", (full_name,), f"the model `{full_name}`")

    def refuse_vendors_model(self, full_name: str, vendors_name: str) -> str:
        """Return why the model that a request names cannot be used; "" if it can. `full_name` is its name here. A name
        that the policy itself has locked is not refused."""
        provider, _, model = full_name.partition("/")
        if vendors_name == model or f"providers.{provider}.models.{model}.modelName" in self.locked:
            return ""
        return self.refuse_model(f"{provider}/{vendors_name}")

    def refuse_url(self, url: str, path: str = "") -> str:
        """Return why an address cannot be used; "" if it can, or if it is empty. `path` is what requests add to it: it
        is allowed with the address, but it may be denied, and it must not lead out of the address."""
        if not url:
            return ""
        whole = f"{url.rstrip('/')}/{path.lstrip('/')}" if path else url
        plain, what = make_plain(url), f"the address `{whole}`"
        # A pattern that denies may be written for the address as it is, or for its plain form. For many servers, two
        # slashes are one.
        whole_plain = make_plain(whole)
        forms = (url, plain, whole, whole_plain, re.sub(r"(?<!:)//+", "/", whole_plain))
        for document in self.documents:
            allowed, denied = document.allow.urls, document.deny.urls
            if denied is not None and any(_matches(denied, form) for form in forms):
                return explain_refusal(document, what)
            is_named = allowed is not None and _allows_url(allowed, plain)
            if allowed is not None and not is_named:
                return explain_refusal(document, what)
            if document.offline and not is_named and not is_here(url):
                return explain_refusal(document, f"{what}: the assistant is offline")
            restricts = document.offline or allowed is not None or denied is not None
            if restricts and is_unclear(whole):
                return explain_refusal(document, f"{what}: it is not certain where it leads")
        return ""

    def refuse_mcp_server(self, command_line: Sequence[str], url: str | None) -> str:
        """Return why an MCP server cannot run; "" if it can."""
        program = " ".join(command_line).strip()
        names = [name for name in (program, url) if name]  # a file may have both
        return (
            self.refuse_feature(Feature.MCP_SERVERS)
            or self._refuse("mcp_servers", names, f"the MCP server `{' '.join(names)}`")
            or self.refuse_url(url or "")
        )

    def refuse_outside_agent(self, command_line: Sequence[str]) -> str:
        """Return why an outside agent cannot be used; "" if it can."""
        text = " ".join(command_line)
        return self.refuse_feature(Feature.OUTSIDE_AGENTS) or self._refuse(
            "outside_agents", (text,), f"the agent `{text}`"
        )

    def refuse_hook(self, programs: Sequence[str]) -> str:
        """Return why a hook cannot run; "" if it can. `programs` are its shell commands and scripts."""
        return self.refuse_feature(Feature.HOOKS) or self._refuse("hooks", programs, "this hook")

    def refuse_custom_tool(self, command: str) -> str:
        """Return why a custom tool cannot be used; "" if it can."""
        return self.refuse_feature(Feature.CUSTOM_TOOLS) or self._refuse("custom_tools", (command,), "this tool")

    def find_budget(self, key: str) -> tuple[float, str] | None:
        """Return the US dollars that cannot be exceeded, not even with the user's consent, and the reason; None if
        there is no such limit. `key` is the key of the budget, for example `perDay`."""
        limits = [getattr(document.limits.budget, to_snake(key)) for document in self.documents]
        lowest = min((limit for limit in limits if limit is not None), default=None)
        return None if lowest is None else (lowest, self.limited.get(f"budget.{key}", ""))

    def _refuse(self, kind: str, names: Sequence[str], what: str) -> str:
        """Return why something cannot be used: one of its names is denied or not allowed. `kind` is a field of
        `PatternLists`."""
        for document in self.documents:
            for name in names:
                if _is_refused(document.allow, document.deny, kind, name):
                    return explain_refusal(document, what)
        return ""

    def describe(self) -> Iterator[str]:
        """Yield what the documents restrict, for `doctor`: one sentence for each locked key."""
        for key, reason in {**self.locked, **self.limited}.items():
            yield f"`{key}`: {reason}"


def _is_refused(allow: PatternLists, deny: PatternLists, kind: str, name: str) -> bool:
    allowed: tuple[str, ...] | None = getattr(allow, kind)
    denied: tuple[str, ...] | None = getattr(deny, kind)
    return (allowed is not None and not _matches(allowed, name)) or (denied is not None and _matches(denied, name))


def _matches(patterns: Sequence[str], name: str) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def _allows_url(patterns: Sequence[str], url: str) -> bool:
    """Return whether a pattern allows a URL. Scheme, host and path are compared apart, so that no `*` for a part of a
    host stands for a slash: `https://*.good.example/*` does not allow `https://evil.example/a.good.example/`."""
    return any(pattern == "*" or _allows_parts(pattern, url) for pattern in patterns)


def _allows_parts(pattern: str, url: str) -> bool:
    wanted, found = _split_url(pattern), _split_url(url)
    return all(fnmatchcase(part, wanted_part) for part, wanted_part in zip(found, wanted, strict=True))


def _split_url(url: str) -> tuple[str, str, str]:
    """Return the scheme, the host with its port, and the rest, which begins with a slash."""
    scheme, _, rest = url.partition("://")
    host, _, path = rest.partition("/")
    return scheme, host, f"/{path}"
