"""What the chat front says of itself is so, and can be read without a network."""

from __future__ import annotations

import re
import subprocess
import sys
from typing import TYPE_CHECKING

import httpx2
import pytest

from tests.fronts.rest_served import Running, running
from tests.workspace.mcp.house import raw

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

# Of each operation that takes anything; together they are more than a thousand cases.
EXAMPLES = 180


@pytest.fixture(scope="module")
def process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    rules = [{"message": "", "reply": [{"text": "Hello."}]}]
    with running(tmp_path_factory.mktemp("rest"), rules=rules, mcpServers={"other": raw("good")}) as at:
        yield at


def test_the_page_needs_nothing_from_elsewhere(process: Running) -> None:
    with httpx2.Client(base_url=process.url, trust_env=False) as client:
        answer = client.get("/docs")
        document = client.get("/openapi.json").json()
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    assert not re.findall(r"<script|src=|https?://", answer.text)
    assert all(path in answer.text for path in document["paths"])


def test_a_thousand_made_up_requests_find_no_answer_that_the_document_does_not_foresee(
    process: Running, tmp_path: Path
) -> None:
    command = [
        sys.executable, "-m", "schemathesis.cli", "run", f"{process.url}/openapi.json", "--url", process.url,
        "--checks", "all", "--max-examples", str(EXAMPLES), "--seed", "1", "--generation-database", "none",
        "--request-timeout", "30", "--no-color",
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600, cwd=tmp_path)
    cases = re.search(r"([\d,]+) generated", done.stdout)
    assert done.returncode == 0, done.stdout
    assert cases is not None
    assert int(cases[1].replace(",", "")) >= 1000
