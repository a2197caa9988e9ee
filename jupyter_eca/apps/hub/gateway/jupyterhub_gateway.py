"""The part of a JupyterHub's configuration that starts the model gateway: LiteLLM Proxy, which sends the requests of
all users to the vendors of models with the keys of the institution. Add to `jupyterhub_config.py`:

    load_subconfig("/srv/gateway/jupyterhub_gateway.py")

The keys of the institution are in the environment of the Hub only: INSTITUTION_ANTHROPIC_KEY, INSTITUTION_OPENAI_KEY.
"""

# pyright: basic, reportUndefinedVariable=false

import os
import secrets
from pathlib import Path

c = get_config()  # noqa: F821  # traitlets defines it

# The folder of the files of the gateway, and the address at which the gateway is served.
FOLDER = Path(__file__).resolve().parent
ADDRESS = os.environ.get("GATEWAY_ADDRESS", "http://127.0.0.1:8800")
# LiteLLM needs an environment of its own: `python -m venv /srv/gateway/venv`, then `pip install "litellm[proxy]"`.
LITELLM = os.environ.get("GATEWAY_LITELLM", str(FOLDER / "venv" / "bin" / "litellm"))

host, _, port = ADDRESS.rpartition("//")[2].rpartition(":")
c.JupyterHub.services.append(
    {
        "name": "llm",
        # There is no `url` here. With a `url`, the Hub would wait for the service, and stop itself if it is not ready
        # after some seconds. LiteLLM needs longer to start.
        "cwd": str(FOLDER),
        "command": [LITELLM, "--config", str(FOLDER / "litellm_config.yaml"), "--host", host, "--port", port],
        "environment": {
            **{name: value for name, value in os.environ.items() if name.startswith(("INSTITUTION_", "GATEWAY_"))},
            # The key of LiteLLM's own administration. Nobody needs it, so each start has another.
            "LITELLM_MASTER_KEY": f"sk-{secrets.token_hex(32)}",
            # Prices are those of the installed version, and are not loaded from the network.
            "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        },
    }
)

# Everybody may use the gateway, and so may the token that each user's server has. A role that is set here replaces the
# Hub's own role of this name, so its default scopes are repeated: `self`, and the first two of `server`. With
# `read:users:groups!user`, the gateway learns the groups of the user, because limits can be set for groups.
c.JupyterHub.load_roles.append({"name": "user", "scopes": ["self", "access:services!service=llm"]})
c.JupyterHub.load_roles.append(
    {
        "name": "server",
        "scopes": [
            "users:activity!user",
            "access:servers!server",
            "access:services!service=llm",
            "read:users:groups!user",
        ],
    }
)

# With this variable, the assistant lists the models of the gateway, and asks with the token of the user's server.
c.Spawner.environment.update({"JUPYTER_ECA_GATEWAY_URL": ADDRESS})
