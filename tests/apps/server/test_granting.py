"""Signing in at a provider from Jupyter: the browser comes back to Jupyter's own door."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlencode, urlsplit

from tests.apps.server.test_sign_in import opened, token
from tests.config.test_credentials import holding
from tests.host.commands.test_granting import CODE, OpenRouter
from tests.mcp_client.door import visit
from tests.plugins.providers.ask import KEY

if TYPE_CHECKING:
    from pathlib import Path

    from tests.apps.server.test_sign_in import Fetch

__all__ = ["token"]


async def test_a_key_is_granted_to_who_comes_back_through_jupyters_own_door(
    jp_root_dir: Path, jp_ws_fetch: Fetch, jp_base_url: str, token: str, tmp_path: Path
) -> None:
    file = jp_root_dir / ".eca" / "config.json"
    with OpenRouter([], key=KEY) as router:
        config = json.loads(file.read_text())
        providers = {**config.get("providers", {}), "openrouter": {"url": f"{router.url}/api/v1"}}
        file.write_text(json.dumps({**config, "providers": providers}))
        async with opened(jp_ws_fetch) as page:
            answer = await page.ask("providers/login", {"provider": "openrouter", "method": "browser"})
            query = parse_qs(urlsplit(str(answer["url"])).query)
            router.challenge, (back,) = query["code_challenge"][0], query["callback_url"]
            assert urlsplit(back).path == f"{jp_base_url}eca/oauth/callback"
            stranger = await visit(f"{back}&{urlencode({'code': CODE})}")
            assert stranger.url.path.endswith("/login")
            assert not router.requests
            done = await visit(f"{back}&{urlencode({'code': CODE})}", Authorization=token)
            assert (done.status_code, "You are signed in to OpenRouter." in done.text) == (200, True)
            updated = await page.next(lambda method, _: method == "providers/updated")
            assert (updated["id"], updated["auth"]["source"]) == ("openrouter", "login")
        assert not any(secret in json.dumps(page.heard) for secret in (KEY, CODE))
        assert holding(tmp_path, KEY) == []
