"""One value of a user's file changes, and nothing else in it."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jupyter_eca.config.jsonc import drop, parse, put
from jupyter_eca.errors import ConfigError

FILE = """\
// my set-up, do not lose this
{
  "defaultModel": "a/b", /* the good one */
  "mcpServers": {
    // searches the web
    "web": {"command": "npx", "args": ["-y", "web"],}, // comma
    'files': {
      command: "files", // its path
      "disabled": true
    }
    // the end of them
  },
  // nothing below
}
"""


def test_a_value_is_replaced_where_it_stands() -> None:
    changed = put(FILE, ("mcpServers", "files", "disabled"), False)
    assert changed == FILE.replace('"disabled": true', '"disabled": false')


def test_a_key_is_added_after_the_last_one_and_its_comment() -> None:
    changed = put(FILE, ("mcpServers", "files", "url"), "x")
    assert changed == FILE.replace('"disabled": true\n', '"disabled": true,\n      "url": "x"\n')


def test_a_server_is_added_with_all_comments_kept() -> None:
    changed = put(FILE, ("mcpServers", "new"), {"command": "c", "args": []})
    assert parse(changed)["mcpServers"]["new"] == {"command": "c", "args": []}
    assert [line for line in FILE.splitlines() if line not in changed.splitlines()] == []
    assert '    "new": {\n      "command": "c",\n      "args": []\n    }\n  },' in changed


def test_objects_on_the_way_are_made_also_in_an_empty_file() -> None:
    assert put("", ("mcpServers", "a", "disabled"), True) == (
        '{\n  "mcpServers": {\n    "a": {\n      "disabled": true\n    }\n  }\n}\n'
    )


def test_a_server_is_removed_and_its_neighbours_comments_stay() -> None:
    changed = drop(FILE, ("mcpServers", "files"))
    assert parse(changed)["mcpServers"] == {"web": {"command": "npx", "args": ["-y", "web"]}}
    assert all(comment in changed for comment in ("my set-up", "searches the web", "// comma", "the end", "nothing"))


def test_what_is_not_there_needs_no_removing() -> None:
    assert drop(FILE, ("mcpServers", "unknown")) == FILE
    assert drop(FILE, ("unknown", "x")) == FILE


def test_lines_of_windows_stay_lines_of_windows() -> None:
    changed = put('{\r\n  "a": 1\r\n}\r\n', ("b",), {"c": 2})
    assert "\n" not in changed.replace("\r\n", "")


def test_a_file_that_is_no_json_is_not_touched() -> None:
    with pytest.raises(ConfigError, match="not JSON"):
        put('{"a": ', ("a",), 1)


@settings(max_examples=25)
@given(st.dictionaries(st.text(max_size=4), st.integers() | st.text(max_size=6) | st.none(), max_size=4), st.text())
def test_any_key_can_be_put_and_dropped_again(data: dict[str, object], key: str) -> None:
    text = json.dumps(data, indent=2, ensure_ascii=False)
    added = put(text, ("s", key), "v")
    assert parse(added) == {**data, "s": {key: "v"}}
    assert parse(drop(added, ("s", key))) == {**data, "s": {}}
