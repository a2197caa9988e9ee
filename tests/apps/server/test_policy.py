"""The administrator's policy in a Jupyter server: a setting of the server, which also holds in its kernels."""

from __future__ import annotations

import json
from typing import Any

import pytest

from jupyter_eca.apps.server.extension import SERVER_POLICY_VARIABLE
from jupyter_eca.config.policy.sources import SERVER_VARIABLE
from tests.apps.server.cells import kernel

CONTACT = "Ask it@uni.example."
POLICY = {"contact": CONTACT, "deny": {"models": ["scripted/*"]}}


@pytest.fixture
def jp_server_config(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:  # a fixture of pytest-jupyter
    monkeypatch.setenv(SERVER_VARIABLE, "")  # which the server sets; this puts it back
    extensions = {"jpserver_extensions": {"jupyter_eca": True}}
    return {"ServerApp": extensions, "EcaApp": {"policy": json.dumps(POLICY)}}


def test_the_server_sets_the_variable_that_the_configuration_reads() -> None:
    assert SERVER_POLICY_VARIABLE == SERVER_VARIABLE


async def test_the_policy_of_the_server_holds_in_its_cells_and_in_an_engine_of_the_kernel_itself(
    jp_serverapp: Any,
) -> None:
    async with kernel(jp_serverapp) as at:
        await at.run("%load_ext jupyter_eca")
        refused = await at.run("%eca /model scripted/test")
        assert CONTACT in str(refused)
        alone = await at.run(
            "from pathlib import Path\nfrom jupyter_eca.config import read_config\n"
            "print(read_config((Path.cwd(),)).policy.find_model_refusal('scripted/test'))"
        )
        assert CONTACT in str(alone)
