"""What the chat front says of itself is so, and can be read without a network."""

from __future__ import annotations

import re
import subprocess
import sys
from typing import TYPE_CHECKING

import httpx2
import pytest

from tests.fronts.rest.served import Running, running
from tests.mcp_client.house import raw
from tests.support.samples import sample

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(scope="module")
def process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    rules = [{"message": "", "reply": [{"text": "Hello."}]}]
    with running(tmp_path_factory.mktemp("rest"), "--no-token", rules=rules, mcpServers={"other": raw("good")}) as at:
        yield at


def test_the_page_needs_nothing_from_elsewhere(process: Running) -> None:
    with httpx2.Client(base_url=process.url, trust_env=False) as client:
        answer = client.get("/docs")
        document = client.get("/openapi.json").json()
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    assert not re.findall(r"<script|src=|https?://", answer.text)
    assert all(path in answer.text for path in document["paths"])


@pytest.mark.parametrize(("examples", "together"), sample([(2, 10), (180, 1000)], every=2))
def test_made_up_requests_find_no_answer_that_the_document_does_not_foresee(
    process: Running, tmp_path: Path, examples: int, together: int
) -> None:
    """`examples` are of each operation that takes anything."""
    command = [
        sys.executable, "-m", "schemathesis.cli", "run", f"{process.url}/openapi.json", "--url", process.url,
        "--checks", "all", "--max-examples", str(examples), "--seed", "1", "--generation-database", "none",
        "--request-timeout", "30", "--no-color",
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600, cwd=tmp_path)
    cases = re.search(r"([\d,]+) generated", done.stdout)
    assert done.returncode == 0, done.stdout
    assert cases is not None
    assert int(cases[1].replace(",", "")) >= together
