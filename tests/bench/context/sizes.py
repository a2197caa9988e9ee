"""Measures what a chat costs before its first word, and what is sent of the place of the user: the chip.

It must not know the limits: `goals` does.
"""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from jupyter_eca.config import ProviderConfig
from jupyter_eca.plugins.providers.anthropic import PROVIDER
from tests.bench.context.goals import Sizes
from tests.bench.context.played_model import MODEL, PlayedModel, say
from tests.bench.context.prefix_cache import CHARS_PER_TOKEN, count_tokens
from tests.bench.context.projects import write_notebook
from tests.bench.context.session import make_normaliser, open_session
from tests.bench.context.task import Task, make_project

if TYPE_CHECKING:
    from tests.bench.context.played_model import Story
    from tests.bench.context.request_view import RequestView
    from tests.bench.context.session import Session

LONG_CELL = "\n".join(
    f'rules["customer-{number}"] = Rule(minimum={number}, maximum={number + 9}, region="north-west", currency="EUR")'
    for number in range(3_000)
)

_NOTEBOOK = "rules.ipynb"
_QUESTIONS = ("What does this cell do?", "And how many rules are there?")


async def measure_sizes() -> Sizes:
    """Measure everything that does not depend on a task."""
    with TemporaryDirectory() as name:
        parts = await measure_prompt(Path(name))
    task = _AskAboutLongCell()
    with TemporaryDirectory() as name:
        folder = make_project(Path(name), task)
        with PlayedModel(task, make_normaliser(folder)) as model:
            async with open_session(folder, model, task.window) as session:
                await task.use(session)
    changed, unchanged = task.chips
    return Sizes(sum(parts.values()), len(unchanged) / CHARS_PER_TOKEN, len(changed) / CHARS_PER_TOKEN)


async def measure_prompt(parent: Path) -> dict[str, float]:
    """Return the tokens of each tool, and of the system prompt, of a chat for which nothing is configured."""
    task = Task()
    folder = make_project(parent, task)
    with PlayedModel(task, make_normaliser(folder)) as model:
        async with open_session(folder, model, task.window) as session:
            request = await session.host.turns.draft("chat", "")
    sent = PROVIDER.request_body(MODEL, request, ProviderConfig())
    body: dict[str, Any] = json.loads(make_normaliser(folder)(json.dumps(sent)))
    tokens = {tool["name"]: count_tokens(tool) for tool in body["tools"]}
    tokens["system prompt"] = sum(map(count_tokens, body["system"]))
    return tokens


class _AskAboutLongCell(Task):
    """The user asks twice about a cell of 3,000 lines."""

    def __init__(self) -> None:
        self.chips: list[str] = []
        """What is sent of the place of the user with each question."""

    def prepare(self, folder: Path) -> None:
        write_notebook(folder / _NOTEBOOK, ["# Rules", "from shop import Rule\n\nrules = {}", LONG_CELL, "len(rules)"])

    async def use(self, session: Session) -> None:
        await session.open(_NOTEBOOK)
        session.page.activate(_NOTEBOOK, "c02", line=1_500)
        for question in _QUESTIONS:
            await session.page.ask(question)

    def play(self, view: RequestView) -> Story:
        for question in _QUESTIONS:
            assert view.news.startswith(question)
            self.chips.append(view.news.removeprefix(question).strip())
            view = yield say("It fills a dictionary.")
