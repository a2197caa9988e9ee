"""Applies the policy documents to the merged settings of all files and clients. Pure.

It must not read a file: its neighbour `sources` does. `applied_policy` has what is refused later, while the program
runs.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, cast

from jupyter_eca.config.policy.applied_policy import AppliedPolicy, explain_refusal
from jupyter_eca.config.policy.document import BudgetLimits, Feature, FeatureState
from jupyter_eca.config.policy.sources import list_leaves
from jupyter_eca.config.schema import SandboxMode
from jupyter_eca.engine.approval.policy import Decision

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from jupyter_eca.config.policy.document import PolicyDocument
    from jupyter_eca.config.policy.sources import ReadPolicy

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class _Limit:
    """A limit that a policy can set."""

    attributes: tuple[str, ...]
    """The path to it in `PolicyLimits`."""
    key: tuple[str, ...]
    """The key of the configuration that it limits."""
    default: float | None
    """The value of the key when nobody sets it."""
    is_zero_unlimited: bool = False
    """Whether 0 stands for no limit in the configuration."""


# All limits that a policy can set.
_LIMITS: Final = (
    _Limit(("budget", "per_chat"), ("budget", "perChat"), None),
    _Limit(("budget", "per_notebook"), ("budget", "perNotebook"), None),
    _Limit(("budget", "per_day"), ("budget", "perDay"), None),
    _Limit(("chat_retention_days",), ("chatRetentionDays",), 0, is_zero_unlimited=True),
    _Limit(("sampling_requests",), ("mcpSampling", "maxRequests"), 20),
    _Limit(("sampling_tokens",), ("mcpSampling", "maxTokens"), 100_000),
    _Limit(("parallel_subagents",), ("subagents", "maxParallel"), 4),
)
# What the policy does not allow, as `explain_refusal` needs it: for a locked key, and for a limited one.
_LOCKED: Final = "a value of your own for {key}"
_LIMITED: Final = "more than {limit:g} for {key}"
_NOT_USED: Final = "Your setting is not used. {reason}"


@dataclass
class _Enforcement:
    """Applies one document after the other."""

    settings: Json
    """The settings so far."""
    locked: dict[str, str] = field(default_factory=dict[str, str])
    """See `AppliedPolicy.locked`."""
    limited: dict[str, str] = field(default_factory=dict[str, str])
    """See `AppliedPolicy.limited`."""
    warnings: list[str] = field(default_factory=list[str])
    """A sentence for each setting of the user that is not used."""

    def lock(
        self,
        document: PolicyDocument,
        key: tuple[str, ...],
        value: Any,
        what: str,
        *,
        warns_user: bool,
        is_limit: bool = False,
    ) -> None:
        """Set a value that the user cannot change or, with `is_limit`, can only make stricter. `what` says what the
        policy does not allow. With `warns_user`, the user gets a warning that an own setting is not used."""
        reason = explain_refusal(document, what)
        if warns_user:
            self.warnings.append(_NOT_USED.format(reason=reason))
        (self.limited if is_limit else self.locked)[".".join(key)] = reason
        self.settings = _put(self.settings, key, value)


def enforce(settings: Json, policies: tuple[ReadPolicy, ...]) -> tuple[Json, AppliedPolicy, list[str]]:
    """Return the settings with the policies applied, what the policies refuse later, and a warning for each setting of
    the user that is not used. The settings must already contain the `deny` and `alwaysAsk` rules of the policies."""
    work = _Enforcement(settings)
    documents, names = tuple(source.document for source in policies), tuple(source.name for source in policies)
    for document in documents:
        # Before any value is locked: prices and agents of a policy count.
        _drop_prices(work, document)
        _drop_agents(work, document)
    for document in documents:
        _apply_features(work, document)
        _apply_locked(work, document)
        _apply_limits(work, document)
        _apply_default(work, document)
    policy = AppliedPolicy(documents=documents, names=names, locked=work.locked, limited=work.limited)
    _drop_refused(work, policy)
    return work.settings, policy, work.warnings


def _apply_locked(work: _Enforcement, document: PolicyDocument) -> None:
    """Replace values by those that the document locks."""
    for key in list_leaves(document.locked):
        value, present = _get(document.locked, key), _get(work.settings, key)
        what = _LOCKED.format(key=f"`{'.'.join(key)}`")  # without the value, which may be a key of a provider
        work.lock(document, key, value, what, warns_user=present is not None and present != value)


def _apply_limits(work: _Enforcement, document: PolicyDocument) -> None:
    """Lower values that are higher than the document allows."""
    for limit in _LIMITS:
        highest: Any = document.limits
        for name in limit.attributes:
            highest = getattr(highest, name)
        if highest is None:
            continue
        present = _get(work.settings, limit.key)
        value = limit.default if present is None else present
        is_unlimited = value is None or (limit.is_zero_unlimited and value == 0)
        is_higher = not isinstance(value, int | float) or value > highest
        what = _LIMITED.format(limit=highest, key=f"`{'.'.join(limit.key)}`")
        lowered = highest if is_unlimited or is_higher else value
        is_changed = present is not None and lowered != present
        work.lock(document, limit.key, lowered, what, warns_user=is_changed, is_limit=True)


def _drop_prices(work: _Enforcement, document: PolicyDocument) -> None:
    """Drop the user's own prices of models if the document limits what may be spent. A price of 0 would remove the
    limit."""
    if document.limits.budget == BudgetLimits():
        return
    reason = explain_refusal(document, "prices of your own")
    for provider, settings in _as_object(work.settings.get("providers")).items():
        for model, chosen in _as_object(_as_object(settings).get("models")).items():
            if _as_object(chosen).get("cost") is not None:
                work.warnings.append(f"`providers.{provider}.models.{model}.cost` is not used. {reason}")
                work.settings = _put(work.settings, ("providers", provider, "models", model, "cost"), None)


def _drop_agents(work: _Enforcement, document: PolicyDocument) -> None:
    """Drop the user's own settings for agents if the document names the agents that may be used. Such a setting could
    replace the instructions of an allowed agent. If the default agent is not allowed, the first allowed agent becomes
    the default."""
    allowed = document.allow.agents
    if allowed is None:
        return
    reason = explain_refusal(document, "settings of your own for agents")
    work.warnings += [f"`agent.{name}` is not used. {reason}" for name in _as_object(work.settings.get("agent"))]
    work.settings = {**work.settings, "agent": {}}
    named = [name for name in allowed if not set(name) & set("*?[")]
    chosen = work.settings.get("defaultAgent")
    if named and chosen not in named:
        what = _LOCKED.format(key="`defaultAgent`")
        work.lock(document, ("defaultAgent",), named[0], what, warns_user=chosen is not None)


def _apply_default(work: _Enforcement, document: PolicyDocument) -> None:
    """Make the decision about calls that no rule selects as strict as the document wants, also that of agents."""
    floor = document.approval.by_default
    if floor is Decision.ALLOW:
        return
    order = list(Decision)  # from the mildest to the strictest
    agents = cast("Json", work.settings.get("agent") or {})
    for owner in ((), *(("agent", name) for name in agents)):
        key = (*owner, "toolCall", "approval", "byDefault")
        present = _get(work.settings, key)
        if owner and present is None:
            continue
        if present not in order or order.index(Decision(present)) < order.index(floor):
            what = f"a milder decision than `{floor.value}` about calls that no rule selects"
            work.lock(document, key, floor.value, what, warns_user=present is not None, is_limit=True)


def _apply_features(work: _Enforcement, document: PolicyDocument) -> None:
    """Apply the features that are settings. The others are refused when they are used."""
    off = {feature for feature in Feature if document.features.get(feature) is FeatureState.FORCE_OFF}
    if Feature.TRUST in off:
        is_on = bool(_get(work.settings, ("chat", "defaultTrust")))
        work.lock(document, ("chat", "defaultTrust"), False, "trust", warns_user=is_on)
    if Feature.SANDBOX in off:
        for name, off_value in (("mode", SandboxMode.OFF.value), ("kernels", False)):
            work.lock(document, ("toolCall", "sandbox", name), off_value, "the sandbox", warns_user=False)
    if document.features.sandbox is FeatureState.FORCE_ON:
        mode = _get(work.settings, ("toolCall", "sandbox", "mode"))
        wanted = mode if mode == SandboxMode.AUTO else SandboxMode.ASK.value
        work.lock(
            document,
            ("toolCall", "sandbox", "mode"),
            wanted,
            "commands outside of the sandbox",
            warns_user=mode == SandboxMode.OFF,
        )


def _drop_refused(work: _Enforcement, policy: AppliedPolicy) -> None:
    """Drop the hooks, custom tools and modes of agents that the policy refuses."""
    for section, find in (("hooks", _find_hook_refusal), ("customTools", _find_tool_refusal)):
        entries = _as_object(work.settings.get(section))
        refusals = {name: refusal for name, entry in entries.items() if (refusal := find(policy, _as_object(entry)))}
        work.warnings += [f"`{section}.{name}` is not used. {reason}" for name, reason in refusals.items()]
        if refusals:
            kept = {name: entry for name, entry in entries.items() if name not in refusals}
            work.settings = {**work.settings, section: kept}
    if reason := policy.find_feature_refusal(Feature.AGENT_MODES):
        for name, entry in _as_object(work.settings.get("acpAgents")).items():
            if _as_object(entry).get("mode") is not None:
                work.warnings.append(f"`acpAgents.{name}.mode` is not used. {reason}")
                work.settings = _put(work.settings, ("acpAgents", name, "mode"), None)


def drop_allow_rules(settings: Json, built_in: Json) -> Json:
    """Return the settings with no `allow` rules but those in `built_in`."""
    kept = _put(settings, ("toolCall", "approval", "allow"), built_in)
    for name, agent in _as_object(settings.get("agent")).items():
        if _get(_as_object(agent), ("toolCall", "approval", "allow")):
            kept = _put(kept, ("agent", name, "toolCall", "approval", "allow"), {})
    return kept


def _find_hook_refusal(policy: AppliedPolicy, hook: Json) -> str:
    """Return why a hook cannot run; "" if it can. `hook` is its entry in the settings."""
    actions: Any = hook.get("actions")
    return policy.find_hook_refusal(
        list(_list_programs(cast("list[Any]", actions if isinstance(actions, list) else [])))
    )


def _list_programs(actions: list[Any]) -> Iterator[str]:
    """Yield the shell commands and the scripts of a hook's actions."""
    for action in actions:
        settings = _as_object(action)
        yield from (text for key in ("shell", "file") if isinstance(text := settings.get(key), str))


def _find_tool_refusal(policy: AppliedPolicy, tool: Json) -> str:
    """Return why a custom tool cannot be used; "" if it can. `tool` is its entry in the settings."""
    return policy.find_custom_tool_refusal(str(tool.get("command", "")))


def _get(settings: Mapping[str, Any], key: tuple[str, ...]) -> Any:
    """Return the value of a key; None if it is not set."""
    found: Any = settings
    for name in key:
        found = cast("Json", found).get(name) if isinstance(found, dict) else None
    return found


def _put(settings: Json, key: tuple[str, ...], value: Any) -> Json:
    """Return the settings with one value set. The argument is not changed."""
    head, *inner_keys = key
    return {**settings, head: _put(_as_object(settings.get(head)), tuple(inner_keys), value) if inner_keys else value}


def _as_object(value: Any) -> Json:
    """Return the value if it is a JSON object, else an empty object."""
    return cast("Json", value) if isinstance(value, dict) else {}
