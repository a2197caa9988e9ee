"""A few of the simulated conversations, for mutants: thousands take too long for each of them."""

from __future__ import annotations

import pytest

from tests.simulation.conversation import Conversation

COUNT, BLOCK = 100, 10


@pytest.mark.parametrize("first", range(0, COUNT, BLOCK))
def test_a_few_conversations_keep_all_rules(first: int) -> None:
    for seed in range(first, first + BLOCK):
        Conversation(seed).run()
