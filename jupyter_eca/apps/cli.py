"""Owns the command line `jupyter-eca`, which is also `jupyter eca`: it parses the arguments and runs the command.

It must not import what only one command needs, so that each command starts quickly. `server`, `ask` and
`doctor` are in `process.py`. Each other command has a module of its own.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from jupyter_eca._version import __version__

if TYPE_CHECKING:
    from collections.abc import Sequence

# The origin from which a frontend of the MCP chat API is usually served on the developer's machine. `fronts.rest`
# serves this API and says what it is.
_FRONTEND_ORIGIN = "http://localhost:3000"

# The levels of the log, by their names in `--log-level`.
_LEVELS = {"error": logging.ERROR, "warn": logging.WARNING, "info": logging.INFO, "debug": logging.DEBUG}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit status: 0; 1 when there was no answer or an error; 130 after Ctrl-C. argparse
    exits with status 2 if it does not understand the arguments."""
    options = build_parser().parse_args(arguments)
    logging.basicConfig(
        level=_LEVELS[options.log_level], stream=sys.stderr, format="%(levelname)s %(name)s: %(message)s"
    )
    from jupyter_eca import redaction
    from jupyter_eca.errors import EcaError

    # Keys and tokens are never written to the log.
    for handler in logging.getLogger().handlers:
        handler.addFilter(redaction.REDACTING_FILTER)

    try:
        return asyncio.run(_run(options))
    except EcaError as error:
        print(error, file=sys.stderr)  # noqa: T201  # the output of a command
        return 1
    except KeyboardInterrupt:
        return 130


async def _run(options: argparse.Namespace) -> int:
    """Run the command that the arguments name. Return its exit status."""
    folder = Path.cwd()
    match options.command:
        case "acp" if options.jupyter:
            from jupyter_eca.apps.server.bridge import bridge_stdio

            return await bridge_stdio(options.jupyter, "acp")
        case "rest" | "mcp" | "acp":
            from jupyter_eca.apps.front_program import run_front

            return await run_front(options.command, folder, options.config_file, options)
        case "export" | "purge":
            from jupyter_eca.apps import kept_data

            run = kept_data.export if options.command == "export" else kept_data.delete
            return await asyncio.to_thread(run, options)
        case "copy-chats":
            from jupyter_eca.apps.copy_chats import copy_chats

            return await asyncio.to_thread(copy_chats, options)
        case "usage":
            from jupyter_eca.apps.usage import print_usage

            return await asyncio.to_thread(print_usage, options)
        case "gateway":
            from jupyter_eca.apps.hub.write_gateway import write_gateway

            return await asyncio.to_thread(write_gateway, options)
        case _:
            return await _run_other_command(options, folder)


async def _run_other_command(options: argparse.Namespace, folder: Path) -> int:
    """Run `to-python`, `server`, `ask` or `doctor`. Return its exit status."""
    from jupyter_eca.apps import process

    match options.command:
        case "to-python":
            from jupyter_eca.apps.kernel.to_python import write_python

            print(await asyncio.to_thread(write_python, options.notebook, options.output))  # noqa: T201  # the output of a command
            return 0
        case "server":
            return await process.serve(folder, options.config_file, trust_folder=options.trust_folder)
        case "ask":
            return await process.ask(
                folder,
                options.config_file,
                options.question,
                options.model,
                options.agent,
                options.chat,
                trust_folder=options.trust_folder,
            )
        case _:
            return await process.doctor(folder, options.config_file, trust_folder=options.trust_folder)


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = argparse.ArgumentParser("jupyter-eca", description="An AI assistant for Jupyter.")
    # Editors that use ECA expect this form (ECA 3.16).
    parser.add_argument("--version", action="version", version=f"eca {__version__}")
    shared = argparse.ArgumentParser(add_help=False)
    shared.add_argument(
        "--config-file", type=Path, help="read this configuration file instead of the global file and the project's"
    )
    shared.add_argument(
        "--trust-folder",
        action="store_true",
        help="trust the settings that this folder brings, as they are now: they may start programs, allow tools and "
        "name providers",
    )
    shared.add_argument("--log-level", choices=sorted(_LEVELS), default="warn", help="what is written to stderr")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    commands.add_parser("server", parents=[shared], help="speak the ECA protocol on stdin and stdout, for an editor")
    ask = commands.add_parser("ask", parents=[shared], help="answer one question in the terminal")
    ask.add_argument("question")
    ask.add_argument("-m", "--model", default="", help="PROVIDER/MODEL")
    # The letter is that of `behavior`, which is the name of an agent in older revisions of ECA.
    ask.add_argument(
        "-b", "--agent", default="", help="code (it acts), plan (it only looks and plans), or an agent of your own"
    )
    ask.add_argument("-c", "--chat", default="", help="continue this chat; `%%eca status` in a notebook shows its id")
    _add_rest(
        commands.add_parser("rest", parents=[shared], help="serve the MCP chat API (REST and SSE), for chat frontends")
    )
    _add_mcp(commands.add_parser("mcp", parents=[shared], help="be an MCP server, for agents and their editors"))
    _add_acp(
        commands.add_parser("acp", parents=[shared], help="be an agent of the Agent Client Protocol, for an editor")
    )
    plain = commands.add_parser(
        "to-python", parents=[shared], help="write a notebook as plain Python that runs without the assistant"
    )
    plain.add_argument("notebook", type=Path, help="the notebook, which is read as it was last saved")
    plain.add_argument("-o", "--output", type=Path, help="a new file (default: NAME-python.ipynb beside the notebook)")
    _add_export_and_purge_options(
        commands.add_parser("export", parents=[shared], help="write all that is kept about a chat, or you, to a .zip"),
        commands.add_parser("purge", parents=[shared], help="delete all that is kept about a chat, a project or you"),
    )
    copying = commands.add_parser(
        "copy-chats", parents=[shared], help="copy the chats of a file into PostgreSQL, after `store.url` was set"
    )
    copying.add_argument("file", type=Path, nargs="?", help="a file chats.db (default: your own)")
    usage_help = "print how much was used by day and person, and nothing of what was said"
    _add_usage(commands.add_parser("usage", parents=[shared], help=usage_help))
    gateway_help = (
        "write the files of a gateway for the models of an institution, for the administrator of a JupyterHub"
    )
    gateway = commands.add_parser("gateway", parents=[shared], help=gateway_help)
    gateway.add_argument("folder", type=Path, help="where the files are written; no file is overwritten")
    commands.add_parser(
        "doctor", parents=[shared], help="show a report: what is set up, what is missing, and what to do about it"
    )
    return parser


def _add_export_and_purge_options(export: argparse.ArgumentParser, purge: argparse.ArgumentParser) -> None:
    """Add the descriptions and the options of `export` and `purge`. Exactly one scope must be given: a chat, a project
    or everything."""
    export.description = (
        "Write all that is kept about a chat, a project or you into one archive: each chat as Markdown and as JSON, "
        "costs, approvals, changes and rules. manifest.json in it says what each file is. Keys are not in it."
    )
    purge.description = (
        "Delete all that is kept about a chat, a project or you. It first says what will be deleted, and asks. It "
        "refuses while Jupyter, an editor or a kernel has the chats open."
    )
    for parser in (export, purge):
        scope = parser.add_mutually_exclusive_group(required=True)
        scope.add_argument("--chat", metavar="ID", help="a chat; `%%eca status` in a notebook shows its id")
        scope.add_argument("--project", metavar="FOLDER", help="all chats of this workspace folder")
        scope.add_argument("--everything", action="store_true", help="all that is kept for you")
    export.add_argument(
        "-o", "--output", type=Path, help="a new file (default: jupyter-eca-DATE.zip in the current folder)"
    )
    purge.add_argument("--yes", action="store_true", help="do not ask")


def _add_usage(usage: argparse.ArgumentParser) -> None:
    """Add the description and the options of `jupyter-eca usage`."""
    usage.description = (
        "Print how many messages, requests, tokens and US dollars were used by day and person, as CSV. Nothing of what "
        "was said is read."
    )
    usage.add_argument("--since", metavar="DAY", default="", help="from this day on, written as 2026-01-31")
    usage.add_argument(
        "--store",
        type=Path,
        nargs="+",
        metavar="PATH",
        help="the files chats.db, data folders of Jupyter or home folders of others, which you may read (default: your "
        "own)",
    )


def _add_acp(acp: argparse.ArgumentParser) -> None:
    """Add the description and the option of `jupyter-eca acp`."""
    acp.description = (
        "An agent of the Agent Client Protocol on stdin and stdout, for editors such as Zed, Neovim and Emacs. The "
        "editor names the folder of each session, and its user approves what the agent does."
    )
    acp.add_argument(
        "--jupyter",
        metavar="URL",
        default="",
        help="work in the Jupyter server at this address, with its open notebooks and kernels. Its token is that in "
        "JUPYTER_TOKEN, or that which a server of this user has written (default: work in files)",
    )


def _add_mcp(mcp: argparse.ArgumentParser) -> None:
    """Add the description and the options of `jupyter-eca mcp`."""
    mcp.description = (
        "An MCP server on stdin and stdout. With MCP_TRANSPORT=http in the environment, it serves HTTP on this machine "
        "instead, at the port MCP_HTTP_PORT (default: 3000). Clients must then send the token in MCP_HTTP_TOKEN. If "
        "that is not set, a new token is written to stderr."
    )
    mcp.add_argument(
        "--backend",
        choices=("eca", "opencode"),
        default="eca",
        help="whose tools are served: those of this assistant, or of a running OpenCode server (OPENCODE_SERVER_URL)",
    )


def _add_rest(rest: argparse.ArgumentParser) -> None:
    """Add the options of `jupyter-eca rest`."""
    rest.add_argument("--port", type=int, default=8000, help="the port; 0 chooses a free one (default: %(default)s)")
    rest.add_argument(
        "--host", default="127.0.0.1", help="the address; if it is not a loopback address, you must set a token"
    )
    rest.add_argument(
        "--cors-origin",
        nargs="+",
        default=[_FRONTEND_ORIGIN],
        metavar="ORIGIN",
        help=f"origins of pages that may connect (default: {_FRONTEND_ORIGIN})",
    )
    rest.add_argument(
        "--approve",
        choices=("allow", "deny", "rules"),
        default="rules",
        help="which tool calls run: allow runs all that the rules do not deny, deny runs none, rules runs those that "
        "the rules allow (default: %(default)s)",
    )
    access = rest.add_mutually_exclusive_group()
    access.add_argument(
        "--token",
        default="",
        help="the token that clients must send; other users of this machine can read arguments, so set "
        "JUPYTER_ECA_REST_TOKEN in the environment instead (default: a new token for each start, which is printed)",
    )
    access.add_argument(
        "--no-token",
        action="store_true",
        help="require no token, which works on a loopback address only: for frontends that send no token, on a machine "
        "of which you are the only user",
    )
