"""The same question in a notebook that nbclient runs: there is no server, and the engine is in the kernel."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import nbformat
from nbclient import NotebookClient

from tests.bench.context.played_model import call, say
from tests.bench.context.projects import write_notebook
from tests.bench.context.session import set_environment
from tests.bench.context.task import Task
from tests.bench.processes import configuration

if TYPE_CHECKING:
    from pathlib import Path

    from tests.bench.context.played_model import Story
    from tests.bench.context.request_view import RequestView
    from tests.bench.context.session import Session

PATIENCE = 120

_nbformat: Any = nbformat

CELLS = [
    "%load_ext jupyter_eca",
    "import pandas as pd",
    'orders = pd.DataFrame({"id": [1, 2, 3], "amount": ["12.5", "n/a", "7.0"]})',
    'orders["amount"] = orders["amount"].astype(float)\norders["amount"].sum()',
    "%%eca -> answer\nwhy did the cell above fail?",
]

# The last cells and the last error, as IPython keeps them.
LOOK = "print(*In[-4:-1], sep='\\n\\n')\nimport sys\nprint(repr(sys.last_value))"


class AskWithoutServer(Task):
    title = "The same without a server"
    config = {"toolCall": {"approval": {"allow": {"run_code": {}}}}}  # noqa: RUF012  # read only

    def prepare(self, folder: Path) -> None:
        write_notebook(folder / "run.ipynb", CELLS)

    async def use(self, session: Session) -> None:
        folder = session.folder
        settings = folder.parent / "settings"
        (settings / "eca").mkdir(parents=True)
        (settings / "eca" / "config.json").write_text(json.dumps(configuration(session.model_url) | self.config))
        with set_environment(XDG_CONFIG_HOME=str(settings), JUPYTER_DATA_DIR=str(settings)):
            document = _nbformat.read(folder / "run.ipynb", 4)
            resources = {"metadata": {"path": str(folder)}}
            client: Any = NotebookClient(document, timeout=PATIENCE, allow_errors=True, resources=resources)
            await client.async_execute()
        self.answer = str(document.cells[-1].outputs)

    def play(self, view: RequestView) -> Story:
        if not (view.knows(r"astype\(float\)") and view.knows("could not convert string to float")):
            view = yield (call("run_code", code=LOOK),)
        view.read(r"(could not convert string to float)")
        yield say('"n/a" is no number, so `astype(float)` fails.')

    async def check(self, session: Session) -> None:  # noqa: ARG002
        assert "is no number" in self.answer


TASK = AskWithoutServer()
