"""Owns `AppliedPolicy`: the policy documents that hold, and what they refuse while the program runs. Each refusal is a
sentence for the user.

It must not change a configuration: its neighbour `enforcement` does.
"""

from __future__ import annotations

import re
from collections import Counter
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Final

from pydantic import Field
from pydantic.alias_generators import to_snake

from jupyter_eca.config.policy.document import Feature, FeatureState, PatternLists, PolicyDocument
from jupyter_eca.config.policy.local_address import is_on_this_machine, is_unclear, normalize_url
from jupyter_eca.protocol.base import Model

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

UNKNOWN_ADDRESS: Final = "unknown:"
"""Stands for the address of a provider that only its plug knows. No pattern of an address allows it, except `*`."""

# The sentence of each refusal, and the words that complete it where a feature is off.
_REFUSAL: Final = "The policy of the administrator does not allow {what}."
_FEATURES: Final = {
    Feature.TRUST: "trust, which runs calls without approval: the rules decide each call",
    Feature.ALLOW_RULES: "rules of your own that allow calls",
    Feature.TYPED_KEYS: "keys that users type in, or signing in",
    Feature.HOOKS: "hooks",
    Feature.CUSTOM_TOOLS: "custom tools",
    Feature.MCP_SERVERS: "MCP servers",
    Feature.OUTSIDE_AGENTS: "outside agents",
    Feature.AGENT_MODES: "choosing the mode of an outside agent",
    Feature.PROJECT_SETTINGS: "settings of a project that are used only after the user trusts its folder",
    Feature.WEB_PAGES: "web pages",
    Feature.COMPLETIONS: "completions at the cursor",
    Feature.SANDBOX: "the sandbox",
}


# The part `..` of a path, which leads to the folder above.
_UP: Final = r"""(?<![^/\\\s=:,'"])\.\.(?![^/\\\s'"])"""
# Characters that begin another command in the line of a shell, or a redirection to or from a file. Also the part `..`.
_IN_SHELL: Final = re.compile(rf"[;&|<>()$`\r\n]|{_UP}")
_IN_PROGRAM: Final = re.compile(_UP)
# The parts of a command that a `*` in a pattern of `allow` does not match: the pattern must contain them itself. The
# keys are fields of `PatternLists`.
_NOT_COVERED_BY_STAR: Final = {
    "hooks": _IN_SHELL,
    "custom_tools": _IN_SHELL,
    "mcp_servers": _IN_PROGRAM,
    "outside_agents": _IN_PROGRAM,
}

# Environment variables that make a program load other code, or look for programs and packages elsewhere. The list is
# not complete: each program has its own variables.
_LEADS_TO_CODE: Final = re.compile(
    r"PATH|PATHEXT|COMSPEC|SHELL|ENV|BASH_ENV|BASH_FUNC_.*|IFS|ZDOTDIR|HOME|USERPROFILE|XDG_CONFIG_.*|(?:LD|DYLD)_.*"
    r"|PYTHON(?:PATH|HOME|STARTUP|BREAKPOINT|USERBASE|EXECUTABLE|WARNINGS|PYCACHEPREFIX|INSPECT|PLATLIBDIR)"
    r"|VIRTUAL_ENV|NODE_(?:OPTIONS|PATH)|(?:NPM|YARN|PNPM|BUN|DENO|UV|PIP|PIPX|CONDA|MAMBA|GIT|CARGO|RUSTUP|DOCKER)_.*"
    r"|PERL5.*|PERLLIB|RUBY.*|GEM_.*|BUNDLE_.*|LUA_.*|PHP.*|R_.*|JULIA_.*|CLASSPATH|JAVA_.*|_JAVA_OPTIONS"
    r"|JDK_JAVA_OPTIONS|DOTNET_.*|COR(?:ECLR)?_.*|GCONV_PATH|LOCPATH|EDITOR|VISUAL|PAGER|BROWSER",
    re.IGNORECASE,
)


def explain_refusal(document: PolicyDocument, what: str) -> str:
    """Return the sentence that a policy does not allow something. `what` completes it."""
    return " ".join(filter(None, (_REFUSAL.format(what=what), document.contact)))


class AppliedPolicy(Model):
    """The administrator's policy that holds for a configuration."""

    documents: tuple[PolicyDocument, ...] = Field(default=(), exclude=True, repr=False)
    """The documents. What one of them refuses is refused."""
    names: tuple[str, ...] = ()
    """The file or the environment variable that each document was read from."""
    locked: dict[str, str] = Field(default_factory=dict[str, str])
    """The keys of the configuration that the user cannot change, each with the reason. Dots join the names of a key."""
    limited: dict[str, str] = Field(default_factory=dict[str, str])
    """The keys of the configuration that the user can only make stricter, each with the reason: a lower limit, or a
    stricter decision."""

    @property
    def contact(self) -> str:
        """The sentences about whom to ask; "" for none."""
        return " ".join(dict.fromkeys(document.contact for document in self.documents if document.contact))

    def find_feature_refusal(self, feature: Feature) -> str:
        """Return why a part of the assistant is off; "" if it is not."""
        off = (document for document in self.documents if document.features.get(feature) is FeatureState.FORCE_OFF)
        return next((explain_refusal(document, _FEATURES[feature]) for document in off), "")

    def find_agent_refusal(self, name: str) -> str:
        """Return why an agent cannot be used; "" if it can."""
        return self._find_name_refusal("agents", (name,), f"the agent `{name}`")

    def find_own_agent_refusal(self, name: str) -> str:
        """Return why the user cannot define an agent; "" if the user can."""
        for document in self.documents:
            # A policy that lists the allowed agents ignores the users' settings for agents.
            if document.allow.agents is not None:
                return explain_refusal(document, "settings of your own for agents")
        keys = {"agent", f"agent.{name}"}
        locked = (text for key, text in self.locked.items() if key in keys or key.startswith(f"agent.{name}."))
        return self.find_agent_refusal(name) or next(locked, "")

    def find_provider_refusal(self, name: str) -> str:
        """Return why a provider cannot be used; "" if it can."""
        return self._find_name_refusal("providers", (name,), f"the provider `{name}`")

    def find_model_refusal(self, full_name: str) -> str:
        """Return why a model cannot be used; "" if it can. `full_name` is PROVIDER/MODEL."""
        provider = full_name.partition("/")[0]
        return self.find_provider_refusal(provider) or self._find_name_refusal(
            "models", (full_name,), f"the model `{full_name}`"
        )

    def find_vendors_model_refusal(self, full_name: str, vendors_name: str) -> str:
        """Return why a model cannot be used under the name that is sent to its provider; "" if it can. `full_name` is
        our name of the model (PROVIDER/MODEL), and `vendors_name` the name that is sent. A vendor's name that the
        policy itself has locked is not refused."""
        provider, _, model = full_name.partition("/")
        if vendors_name == model or f"providers.{provider}.models.{model}.modelName" in self.locked:
            return ""
        return self.find_model_refusal(f"{provider}/{vendors_name}")

    def find_url_refusal(self, url: str, path: str = "") -> str:
        """Return why an address cannot be used; "" if it can, or if it is empty. `path` is what requests add to the
        address. An allowed address allows all paths below it. But a path may be denied, and it must not lead out of the
        address."""
        if not url:
            return ""
        whole = f"{url.rstrip('/')}/{path.lstrip('/')}" if path else url
        plain, what = normalize_url(url), f"the address `{whole}`"
        # A pattern that denies may be written for the address as it is, or for its plain form. For many servers, two
        # slashes are one.
        whole_plain = normalize_url(whole)
        forms = (url, plain, whole, whole_plain, re.sub(r"(?<!:)//+", "/", whole_plain))
        for document in self.documents:
            allowed, denied = document.allow.urls, document.deny.urls
            if denied is not None and any(_matches(denied, form) for form in forms):
                return explain_refusal(document, what)
            is_named = allowed is not None and _allows_url(allowed, plain)
            if allowed is not None and not is_named:
                return explain_refusal(document, what)
            if document.offline and not is_named and not is_on_this_machine(url):
                return explain_refusal(document, f"{what}: the assistant is offline")
            restricts = document.offline or allowed is not None or denied is not None
            if restricts and is_unclear(whole):
                return explain_refusal(document, f"{what}: it is not certain where it leads")
        return ""

    def find_mcp_server_refusal(
        self, command_line: Sequence[str], url: str | None, name: str = "", variables: Iterable[str] = ()
    ) -> str:
        """Return why an MCP server cannot run; "" if it can. `name` is its name in the configuration, and `variables`
        are the names of the environment variables that the configuration sets for its program."""
        program = " ".join(command_line).strip()
        names = [text for text in (program, url) if text]  # a file may have both
        what = f"the MCP server `{' '.join(names)}`"
        return (
            self.find_feature_refusal(Feature.MCP_SERVERS)
            or self._find_name_refusal("mcp_servers", names, what)
            or self.find_url_refusal(url or "")
            or self._find_variable_refusal("mcp_servers", f"mcpServers.{name}", variables, what)
        )

    def find_outside_agent_refusal(
        self, command_line: Sequence[str], name: str = "", variables: Iterable[str] = ()
    ) -> str:
        """Return why an outside agent cannot be used; "" if it can. `name` is its name in the
        configuration, and `variables` are the environment variables that the configuration sets for its program."""
        text = " ".join(command_line)
        what = f"the agent `{text}`"
        return (
            self.find_feature_refusal(Feature.OUTSIDE_AGENTS)
            or self._find_name_refusal("outside_agents", (text,), what)
            or self._find_variable_refusal("outside_agents", f"acpAgents.{name}", variables, what)
        )

    def find_hook_refusal(self, programs: Sequence[str]) -> str:
        """Return why a hook cannot run; "" if it can. `programs` are its shell commands and scripts."""
        return self.find_feature_refusal(Feature.HOOKS) or self._find_name_refusal("hooks", programs, "this hook")

    def find_custom_tool_refusal(self, command: str) -> str:
        """Return why a custom tool cannot be used; "" if it can. `command` is what its shell runs."""
        return self.find_feature_refusal(Feature.CUSTOM_TOOLS) or self._find_name_refusal(
            "custom_tools", (command,), "this tool"
        )

    def find_budget(self, key: str) -> tuple[float, str] | None:
        """Return the US dollars that cannot be exceeded, not even with the user's consent, and the reason; None if
        there is no such limit. `key` is the key of the budget, for example `perDay`."""
        limits = [getattr(document.limits.budget, to_snake(key)) for document in self.documents]
        lowest = min((limit for limit in limits if limit is not None), default=None)
        return None if lowest is None else (lowest, self.limited.get(f"budget.{key}", ""))

    def _find_name_refusal(self, kind: str, names: Sequence[str], what: str) -> str:
        """Return why something cannot be used, because one of its names is denied or not allowed; "" if it can. `kind`
        is a field of `PatternLists`. `what` names the thing in the sentence for the user."""
        for document in self.documents:
            for name in names:
                if _is_refused(document.allow, document.deny, kind, name):
                    return explain_refusal(document, what)
        return ""

    def _find_variable_refusal(self, kind: str, key: str, variables: Iterable[str], what: str) -> str:
        """Return why a program cannot have one of its environment variables; "" if it can. Where a policy says which
        programs are allowed, a variable must not make an allowed program run others. `key` is the key of the program in
        the configuration; a variable that the policy itself sets there is not refused."""
        risky = [
            variable
            for variable in variables
            if _LEADS_TO_CODE.fullmatch(variable) and f"{key}.env.{variable}" not in self.locked
        ]
        for document in self.documents if risky else ():
            allowed: tuple[str, ...] | None = getattr(document.allow, kind)
            if allowed is not None and "*" not in allowed:
                return explain_refusal(document, f"the variable `{risky[0]}` for {what}")
        return ""

    def describe(self) -> Iterator[str]:
        """Yield one sentence for each locked or limited key, for the report of `%eca doctor`."""
        for key, reason in {**self.locked, **self.limited}.items():
            yield f"`{key}`: {reason}"


def _is_refused(allow: PatternLists, deny: PatternLists, kind: str, name: str) -> bool:
    """Return whether a name is denied, or not allowed. `kind` is the field of `PatternLists` with the patterns."""
    allowed: tuple[str, ...] | None = getattr(allow, kind)
    denied: tuple[str, ...] | None = getattr(deny, kind)
    is_allowed = allowed is None or any(_allows(pattern, name, kind) for pattern in allowed)
    return not is_allowed or (denied is not None and _matches(denied, name))


def _allows(pattern: str, name: str, kind: str) -> bool:
    """Return whether a pattern of `allow` allows a name. In a command, a `*` stands for no path that goes up and, if a
    shell runs the command, for no other command: `black *` does not allow `black x; curl y`. Only the pattern `*`
    allows everything."""
    if pattern == "*":
        return True
    not_covered = _NOT_COVERED_BY_STAR.get(kind)
    if not_covered is not None:
        # The name may contain such a part as often as the pattern itself does.
        written = Counter(not_covered.findall(pattern))
        if any(count > written[part] for part, count in Counter(not_covered.findall(name)).items()):
            return False
    return fnmatchcase(name, pattern)


def _matches(patterns: Sequence[str], name: str) -> bool:
    """Return whether one of the patterns matches a name."""
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def _allows_url(patterns: Sequence[str], url: str) -> bool:
    """Return whether a pattern allows a URL. Scheme, host and path are compared apart, so that no `*` for a part of a
    host stands for a slash: `https://*.good.example/*` does not allow `https://evil.example/a.good.example/`."""
    return any(pattern == "*" or _allows_parts(pattern, url) for pattern in patterns)


def _allows_parts(pattern: str, url: str) -> bool:
    """Return whether the scheme, the host and the path of a URL match those of a pattern."""
    wanted, found = _split_url(pattern), _split_url(url)
    return all(fnmatchcase(part, wanted_part) for part, wanted_part in zip(found, wanted, strict=True))


def _split_url(url: str) -> tuple[str, str, str]:
    """Return the scheme, the host with its port, and the rest, which begins with a slash."""
    scheme, _, after_scheme = url.partition("://")
    host, _, path = after_scheme.partition("/")
    return scheme, host, f"/{path}"
