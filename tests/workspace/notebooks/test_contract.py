"""The contract of `workspace.base.Notebooks` held by the answers that need no browser."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import pytest_asyncio

from jupyter_eca.workspace.kernels import client
from tests.workspace.notebooks import contract
from tests.workspace.notebooks.answers import ANSWERS, Answer, answer
from tests.workspace.notebooks.contract import *  # noqa: F403  # the tests, and what comes with them

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=ANSWERS)
async def at(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Answer]:
    with pytest.MonkeyPatch.context() as patch:
        for name in ("JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "JUPYTER_CONFIG_DIR", "IPYTHONDIR"):
            patch.setenv(name, str(tmp_path_factory.mktemp(name)))
        patch.setattr(client, "INTERRUPT_GRACE", contract.PATIENCE)
        patch.setattr(client, "FIRST_MESSAGE_WAIT", contract.PATIENCE)
        async with answer(request.param, tmp_path_factory.mktemp("work")) as made:
            yield made
