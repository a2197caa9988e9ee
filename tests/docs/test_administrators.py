"""The page for administrators names every key of a policy, and its examples are policies."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from pydantic.alias_generators import to_camel

from jupyter_eca.apps.hub import write_gateway
from jupyter_eca.config.policy.document import FeatureStates, PatternLists, PolicyDocument, PolicyLimits
from jupyter_eca.config.policy.sources import FILE_NAME, VARIABLE, read_policies

if TYPE_CHECKING:
    from jupyter_eca.protocol.base import Model

PAGE = (Path(__file__).parents[2] / "notebooks" / "docs" / "administrators.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```json\n(.*?)```", PAGE, re.S)


@pytest.mark.parametrize("model", [PolicyDocument, PolicyLimits, PatternLists, FeatureStates])
def test_every_key_is_named(model: type[Model]) -> None:
    keys = PAGE.partition("## The keys")[2].partition("## Examples")[0]
    assert [name for name in map(to_camel, model.model_fields) if not re.search(rf"[`.]{name}\b", keys)] == []


@pytest.mark.parametrize("name", ["litellm_config.yaml", "limits.json"])
def test_the_files_of_the_gateway_are_those_that_the_command_writes(name: str) -> None:
    content = (Path(write_gateway.__file__).parent / "gateway" / name).read_text(encoding="utf-8")
    assert f"`{name}`" in PAGE
    assert f"```{name.rpartition('.')[2]}\n{content}```" in PAGE


def test_the_values_for_helm_say_what_the_configuration_of_a_hub_says_and_that_nobody_has_tried_them() -> None:
    folder = Path(write_gateway.__file__).parent / "gateway"
    text, configuration = (folder / "helm_values.yaml").read_text(), (folder / "jupyterhub_gateway.py").read_text()
    assert "NOBODY HAS TRIED THIS FILE" in text
    values: dict[str, Any] = yaml.safe_load(text)
    for role, about in values["hub"]["loadRoles"].items():
        wanted = re.search(rf'"name": "{role}",\s*"scopes": \[(.*?)\]', configuration, re.S)
        assert wanted is not None
        assert about["scopes"] == re.findall(r'"(.*?)"', wanted[1])
    user = values["singleuser"]
    assert all(f'"{name}"' in configuration for name in user["extraEnv"])
    (policy,) = user["extraFiles"].values()
    assert policy["mountPath"] == f"/etc/jupyter/{FILE_NAME}"
    assert [read.error for read in read_policies({VARIABLE: json.dumps(policy["data"])})] == [""]


@pytest.mark.parametrize("number", range(3))
def test_the_examples_are_policies(number: int) -> None:
    assert [read.error for read in read_policies({VARIABLE: EXAMPLES[number]})] == [""]
