"""A client chooses who answers: an agent of ours, or a program of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.fronts.rest.served import running, talking
from tests.host.outside.talking import fake
from tests.support.samples import sample

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.asyncio


@pytest.mark.parametrize("approve", sample(["rules", "allow"], every=2))
async def test_an_outside_agent_answers_where_it_is_chosen_and_runs_only_what_a_rule_allows(
    tmp_path: Path, approve: str
) -> None:
    with running(tmp_path, "--approve", approve, acpAgents=fake(tmp_path)) as process:
        async with talking(process) as at:
            answer = await at.post("/chat", json={"message": "DO: say From outside.", "chat_id": "a", "agent": "fake"})
            assert answer["response"] == "From outside."
            # The chat keeps its agent.
            asked = await at.post("/chat", json={"message": "DO: codex_shell touch made.txt", "chat_id": "a"})
            assert not (tmp_path / "made.txt").exists()
            assert "Hello," not in asked["response"]
            ours = await at.post("/chat", json={"message": "you", "chat_id": "b"})
            assert ours["response"] == "Hello, you"


async def test_an_outside_agent_does_not_answer_where_no_call_may_run(tmp_path: Path) -> None:
    with running(tmp_path, "--approve", "deny", acpAgents=fake(tmp_path)) as process:
        async with talking(process) as at:
            refused = await at.client.post("/chat", json={"message": "DO: say Hi", "chat_id": "a", "agent": "fake"})
            assert refused.status_code == 400
            assert "--approve rules" in refused.text
            ours = await at.post("/chat", json={"message": "you", "chat_id": "a"})
            assert ours["response"] == "Hello, you"


async def test_an_unknown_agent_is_refused_with_the_names_of_those_that_exist(tmp_path: Path) -> None:
    with running(tmp_path) as process:
        async with talking(process) as at:
            answer = await at.client.post("/chat", json={"message": "Hello", "chat_id": "a", "agent": "nobody"})
            assert answer.status_code == 404
            assert "plan" in answer.text
            listed = await at.get("/chats")
            assert "a" not in str(listed)
