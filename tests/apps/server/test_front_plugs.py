"""Fronts of other packages, at `<base_url>eca/NAME/`: the one that the handbook shows, behind Jupyter's own door."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from tornado.httpclient import HTTPClientError

from tests.support.docs_pages import install

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    Fetch = Callable[..., Awaitable[Any]]


@pytest.fixture(autouse=True)
def handbook(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    site = tmp_path / "site"
    site.mkdir()
    install(site)
    monkeypatch.syspath_prepend(str(site))  # pyright: ignore[reportUnknownMemberType]  # untyped in pytest


async def test_a_front_of_another_package_is_served_behind_jupyters_own_door(jp_fetch: Fetch) -> None:
    asked = json.dumps({"message": "Where do parrots sleep?"})
    headers = {"Content-Type": "application/json"}
    await jp_fetch("eca", "rest", "chat", method="POST", body=asked, headers=headers)
    assert "Where do parrots sleep?" in (await jp_fetch("eca", "titles/")).body.decode()

    with pytest.raises(HTTPClientError) as moved:
        await jp_fetch("eca", "titles", follow_redirects=False)
    assert moved.value.code == 307
    assert moved.value.response is not None
    assert moved.value.response.headers["Location"].endswith("/eca/titles/")

    with pytest.raises(HTTPClientError) as refused:
        await jp_fetch("eca", "titles/", headers={"Authorization": "token wrong"})
    assert refused.value.code == 403
    with pytest.raises(HTTPClientError) as missing:
        await jp_fetch("eca", "nothing")
    assert missing.value.code == 404
    assert missing.value.response is not None
    assert json.loads(missing.value.response.body) == {"detail": "There is no front 'nothing'."}


async def test_a_front_of_another_package_gets_no_request_to_change_from_who_may_only_read(
    jp_serverapp: Any, jp_fetch: Fetch, monkeypatch: pytest.MonkeyPatch
) -> None:
    def may(_handler: Any, _user: Any, action: str, _resource: str) -> bool:
        return action == "read"

    with pytest.raises(HTTPClientError) as unknown:
        await jp_fetch("eca", "titles/", method="POST", body="{}")
    assert unknown.value.code == 405  # the front's own answer
    monkeypatch.setattr(jp_serverapp.authorizer, "is_authorized", may)
    assert (await jp_fetch("eca", "titles/")).code == 200
    with pytest.raises(HTTPClientError) as refused:
        await jp_fetch("eca", "titles/", method="POST", body="{}")
    assert refused.value.code == 403
    assert refused.value.response is not None
    assert "may read the chats" in json.loads(refused.value.response.body)["detail"]
