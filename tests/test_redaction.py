"""Secrets in the command or the address of a tool server are found by their position, and by how they look."""

from __future__ import annotations

import pytest

from jupyter_eca import redaction

HIDDEN = redaction.HIDDEN
# In two parts, so that nothing here looks like a real key.
VENDOR = "sk-" + "proj-q1w2e3r4t5y6"


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--token", "hush"], ["--token", HIDDEN]),
        (["--api-key=hush hush", "--port", "80"], [f"--api-key={HIDDEN}", "--port", "80"]),
        (["-e", "DB_PASS=x1", "image"], ["-e", f"DB_PASS={HIDDEN}", "image"]),
        (["GITHUB_TOKEN=abc", "node"], [f"GITHUB_TOKEN={HIDDEN}", "node"]),
        (["-H", "Authorization: Bearer abc"], ["-H", f"Authorization: {HIDDEN}"]),
        (["--header", "X-Api-Key:abc"], ["--header", f"X-Api-Key:{HIDDEN}"]),
        (["-u", "me:pw"], ["-u", HIDDEN]),
        (
            ["-c", "export TOKEN=abc; serve --secret abc -v"],
            ["-c", f"export TOKEN={HIDDEN}; serve --secret {HIDDEN} -v"],
        ),
        (['{"apiKey": "abc", "level": 3}'], [f'{{"apiKey": "{HIDDEN}", "level": 3}}']),
        (["postgres://me:pw@db/x"], [f"postgres://{HIDDEN}@db/x"]),
        (["https://h/mcp?v=1&key=abc"], [f"https://h/mcp?v={HIDDEN}&key={HIDDEN}"]),
        (["run", VENDOR], ["run", HIDDEN]),
        (["Zm9vYmFyYmF6cXV4MTIzNDU2Nzg5"], [HIDDEN]),
        (["--api_key", "/abc"], ["--api_key", HIDDEN]),
        (["--secret-key=/9j4/abc+d"], [f"--secret-key={HIDDEN}"]),
        (["--token", "~abc"], ["--token", HIDDEN]),
        (["--token", "-abc", "--port", "80"], ["--token", HIDDEN, "--port", "80"]),
        (["--bearer", "abc", "--jwt", "abc", "--pw", "abc"], ["--bearer", HIDDEN, "--jwt", HIDDEN, "--pw", HIDDEN]),
        (["--user=me:pw"], [f"--user={HIDDEN}"]),
        (["-ume:pw"], [f"-u{HIDDEN}"]),
        (["--user", "me", "-p", "hush"], ["--user", "me", "-p", HIDDEN]),
        (["-c", "curl --user me:pw -v"], ["-c", f"curl --user {HIDDEN} -v"]),
        (["-c", "export API_KEY='a b c'; run"], ["-c", f"export API_KEY='{HIDDEN}'; run"]),
        (["-c", 'run --token "a b" -v'], ["-c", f'run --token "{HIDDEN}" -v']),
        (["-c", "run --token -abc -v"], ["-c", f"run --token {HIDDEN} -v"]),
        (["-c", "curl -H 'Authorization: Bot a b' -v"], ["-c", f"curl -H 'Authorization: {HIDDEN}' -v"]),
        (['{"token": "a \\" b", "level": 3}'], [f'{{"token": "{HIDDEN}", "level": 3}}']),
    ],
)
def test_a_secret_in_an_argument_is_hidden_by_its_position_or_its_look(
    arguments: list[str], expected: list[str]
) -> None:
    assert redaction.redact_arguments(arguments) == tuple(expected)


@pytest.mark.parametrize(
    "arguments",
    [
        ["-y", "@modelcontextprotocol/server-filesystem@2026.8.31", "/srv/me/data"],
        ["-m", "some_server", "--port", "3000", "--host=127.0.0.1", "--no-auth", "--verbose"],
        ["--key-file", "/etc/keys/server.pem", "--token-file=~/.token", "--private-key", "/etc/keys/a.pem"],
        ["--auth", "--verbose", "--no-auth", "-v", "-u", "1000:1000", "--user=1000:1000", "-p", "8080:80"],
        ["-p", "@scope/server", "git+https://github.com/a/b#subdirectory=src/c", "https://host/page#second-part"],
        ["run", "--rm", "-v", "/var/run/docker.sock:/var/run/docker.sock", "mcp/github:v1.2.3"],
        ["--directory", "/src/project", "run", "server.py", "--url", "http://127.0.0.1:8080/mcp"],
    ],
)
def test_ordinary_arguments_stay_readable(arguments: list[str]) -> None:
    assert redaction.redact_arguments(arguments) == tuple(arguments)


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://me:pw@host:8/mcp", f"https://{HIDDEN}@host:8/mcp"),
        ("https://hush@host/mcp?a=1&hush", f"https://{HIDDEN}@host/mcp?a={HIDDEN}&{HIDDEN}"),
        ("https://host/s/0f8fad5b-d9cb-469f-a165-70867728950e/mcp", f"https://host/s/{HIDDEN}/mcp"),
        ("http://127.0.0.1:9/mcp", "http://127.0.0.1:9/mcp"),
        ("https://host/mcp;token=abc?a=1", f"https://host/mcp;token={HIDDEN}?a={HIDDEN}"),
        ("https://host/mcp#access_token=abc&abc1", f"https://host/mcp#access_token={HIDDEN}&{HIDDEN}"),
    ],
)
def test_an_address_is_shown_without_its_user_its_query_and_its_random_parts(url: str, expected: str) -> None:
    assert redaction.redact_url(url) == expected


def test_what_is_registered_of_an_address_and_of_arguments_is_hidden_in_any_text() -> None:
    redaction.register_url_secrets("https://me:zq7k-pass-word-1@host/?key=zq7k-query-12")
    redaction.register_secret(*redaction.find_secrets(["--token", "zq7k-argument-1"]))
    text = redaction.redact("zq7k-pass-word-1 zq7k-query-12 zq7k-argument-1 bWU6enE3ay1wYXNzLXdvcmQtMQ==")
    assert set(text.split()) == {HIDDEN}
