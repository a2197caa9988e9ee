"""The faults, by name. Each makes one story on a machine, with one fault at a moment that the seed chooses, and checks
what must hold after it. It returns the client with which the machine goes on."""

from __future__ import annotations

import asyncio
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import psutil

from jupyter_eca.protocol.jsonrpc import ErrorResponse, Notification
from tests.faults.machine import Client, Died, Refused, is_content, is_end, runs
from tests.support.processes import have_ended

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Generator

    from jupyter_eca.protocol.jsonrpc import Message
    from tests.faults.machine import Machine

    Fault = Callable[["Machine", Client, random.Random, str], Awaitable[Client]]

PROMPTS = ("talk", "mark", "asks")
PROMPTS_TO_SERVER = ("serve", "both")

# How long nothing of the server runs, in a stall.
STALL_SECONDS = 1.0

# A story of one turn has about so many messages. Later moments come to no story, and earlier ones to each.
MESSAGES = 60


def write_prompts(machine: Machine, dice: random.Random, chat: str) -> list[str]:
    kinds = (*PROMPTS, *PROMPTS_TO_SERVER) if machine.has_server else PROMPTS
    return [f"{dice.choice(kinds)} {chat}-{number}" for number in range(dice.randint(1, 3))]


async def tell(client: Client, chat: str, prompts: list[str]) -> None:
    for prompt in prompts:
        await client.ask(chat, prompt)


def at_message(client: Client, number: int, act: Callable[[], None]) -> None:
    """Act when the client has received so many more messages."""
    at = client.count + number

    def count(_: Message) -> None:
        if client.count == at:
            act()

    client.on_message = count


async def drain(client: Client) -> None:
    """Receive what the process had sent before it was killed: the user has seen it."""
    with suppress(Died):
        await client.until(lambda _: False)


async def restart(machine: Machine, dead: Client, old: set[str]) -> Client:
    """Start a server after another one was killed. It ends what the other has left."""
    assert await dead.process.wait() == -signal.SIGKILL
    orphans = machine.find_processes() - {client.process.pid for client in machine.clients}
    client = await machine.connect()
    new = {client.process.pid, *machine.find_children(client)}
    assert have_ended(*(orphans - new)), f"orphans: {describe(orphans)}"
    assert machine.list_temporary() & old == set(), "temporary files of the killed server are left"
    return client


def describe(pids: set[int]) -> list[str]:
    found: list[str] = []
    for pid in pids:
        with suppress(psutil.Error):
            found.append(" ".join(psutil.Process(pid).cmdline()))
    return found


async def kill_server(machine: Machine, client: Client, dice: random.Random, chat: str) -> Client:
    """The server is killed at a random message."""
    running = True
    with suppress(Died):
        at_message(client, dice.randint(1, MESSAGES), client.process.kill)
        await tell(client, chat, write_prompts(machine, dice, chat))
        running = False
        client.process.kill()
    await drain(client)
    old = machine.list_temporary()
    after = await restart(machine, client, old)
    await machine.check_kept(client, after, chat)
    machine.check_marks(after, chat)
    if not running:
        assert after.count_crashes(chat) == 0, "a turn that had ended is said to have been interrupted"
    return after


async def kill_server_in_command(machine: Machine, client: Client, dice: random.Random, chat: str) -> Client:
    """The server is killed while a command runs, at a random moment of it."""
    talked = dice.random() < 0.5
    if talked:
        await client.ask(chat, f"talk {chat}-0")
    moment = dice.choice(["toolCallRun", "toolCallRunning", "mark"])

    def watch(message: Message) -> None:
        if is_content(message, chat, moment):
            client.process.kill()

    client.on_message = watch
    with suppress(Died):
        if moment == "mark":
            telling = asyncio.create_task(client.ask(chat, f"hang {chat}-1"))
            while not (machine.marks.exists() and f"{chat}-1" in machine.marks.read_text()):  # noqa: ASYNC110  # no event tells what happens in another process
                await asyncio.sleep(0.01)
            client.process.kill()
            await telling
        else:
            await client.ask(chat, f"hang {chat}-1")
    await drain(client)
    after = await restart(machine, client, machine.list_temporary())
    await machine.check_kept(client, after, chat)
    assert after.count_crashes(chat) == 1, "no sentence says that the server ended"
    machine.check_marks(after, chat)
    return after


async def kill_mcp_server(machine: Machine, client: Client, dice: random.Random, chat: str) -> Client:
    """The MCP server is killed at a random message. The turn ends, and the next call works."""
    pid = machine.find_server(client)
    assert pid, f"the MCP server runs: {machine.find_children(client)} {describe(machine.find_processes())}"
    killed = False

    def kill() -> None:
        nonlocal killed
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
            killed = True

    at_message(client, dice.randint(1, 20), kill)
    await tell(client, chat, [f"serve {chat}-0", f"both {chat}-1"])
    if not killed:
        kill()
    client.on_message = lambda _: None
    if machine.find_server(client) in {0, pid}:
        await client.until(lambda m: isinstance(m, Notification) and runs(m.params))
    await client.ask(chat, f"serve {chat}-2")
    assert f"{chat}-2" in machine.marks.read_text().split(), "the server does not work again"
    failed = [end for ends in client.ended_calls(chat).values() for end in ends if end.get("error")]
    assert all(end["outputs"][0]["text"] for end in failed), "a failed call says why"
    await machine.check_kept(client, client, chat)
    machine.check_marks(client, chat)
    return client


async def stop_server(machine: Machine, client: Client, dice: random.Random, chat: str) -> Client:
    """The server is stopped for a while (SIGSTOP, SIGCONT) at a random message, as on a laptop that sleeps."""
    process = psutil.Process(client.process.pid)
    resuming: list[asyncio.Task[None]] = []

    async def resume() -> None:
        while process.status() != psutil.STATUS_STOPPED:  # noqa: ASYNC110  # no event tells what happens in another process
            await asyncio.sleep(0.001)
        process.send_signal(signal.SIGCONT)

    def stop() -> None:
        process.send_signal(signal.SIGSTOP)
        resuming.append(asyncio.create_task(resume()))

    at_message(client, dice.randint(1, MESSAGES), stop)
    await tell(client, chat, write_prompts(machine, dice, chat))
    client.on_message = lambda _: None
    await asyncio.gather(*resuming)
    await machine.check_kept(client, client, chat)
    machine.check_marks(client, chat)
    return client


async def lock_database(machine: Machine, client: Client, dice: random.Random, chat: str) -> Client:
    """Another program locks the database at a random message, for some messages or until the user is told."""
    await client.ask(chat, "hi")
    patient = dice.random() < 0.2
    with closing(sqlite3.connect(machine.database, isolation_level=None, timeout=30)) as other:
        told = len(client.messages)
        at_message(client, dice.randint(1, MESSAGES // 2), lambda: other.execute("BEGIN IMMEDIATE") and None)
        telling = asyncio.create_task(tell(client, chat, [f"mark {chat}-0", f"talk {chat}-1"]))
        while not other.in_transaction and not telling.done():  # noqa: ASYNC110  # no event tells what happens in another process
            await asyncio.sleep(0.001)
        while patient and len(client.messages) == told and not telling.done():  # noqa: ASYNC110  # no event tells what happens in another process
            await asyncio.sleep(0.01)
        if other.in_transaction:
            other.execute("ROLLBACK")
        with only_refused_for(machine):
            await telling
    client.on_message = lambda _: None
    await wait_until_saved(client)
    await machine.check_kept(client, client, chat)
    machine.check_marks(client, chat)
    return client


async def fill_disk(machine: Machine, client: Client, dice: random.Random, chat: str) -> Client:
    """No file can grow any more from a random message on, until the user is told or the turn is over."""
    await client.ask(chat, "hi")
    process = psutil.Process(client.process.pid)
    before = process.rlimit(psutil.RLIMIT_FSIZE)

    def fill() -> None:
        largest = max(path.stat().st_size for path in machine.store.glob("chats.db*"))
        process.rlimit(psutil.RLIMIT_FSIZE, (largest, before[1]))

    told = len(client.messages)
    at_message(client, dice.randint(1, MESSAGES // 2), fill)
    with only_refused_for(machine):
        await client.ask(chat, f"talk {chat}-0")
    process.rlimit(psutil.RLIMIT_FSIZE, before)
    client.on_message = lambda _: None
    if len(client.messages) > told:
        assert str(machine.database) in client.messages[told], "the message names the file"
    await wait_until_saved(client)
    await machine.check_kept(client, client, chat)
    return client


@contextmanager
def only_refused_for(machine: Machine) -> Generator[None]:
    """While nothing can be stored, no turn begins, and the error names the file."""
    try:
        yield
    except Refused as error:
        if str(machine.database) not in str(error):
            raise


async def wait_until_saved(client: Client) -> None:
    """Wait until a turn can begin again, which needs a store that works."""
    for _ in range(200):
        reply = await client.request("chat/prompt", {"chatId": "probe", "message": "hi"})
        if not isinstance(reply, ErrorResponse):
            await client.until(lambda m: is_end(m, "probe"))
            return
    raise AssertionError("nothing can be stored any more")


async def damage_database(machine: Machine, client: Client, dice: random.Random, chat: str) -> Client:
    """The server is killed, and the database or its WAL is cut or overwritten at a random place. The next server works
    with what can be read, says it once, and keeps the damaged file. `../host/store/test_damage.py` checks what can be
    read."""
    await tell(client, chat, write_prompts(machine, dice, chat))
    client.process.kill()
    await drain(client)
    await client.process.wait()
    files = [
        path for path in sorted(machine.store.glob("chats.db*")) if path.suffix != ".db-shm" and path.stat().st_size
    ]
    path = dice.choice(files)
    size = path.stat().st_size
    at = dice.randrange(size)
    with path.open("r+b") as file:
        if dice.random() < 0.5:
            file.truncate(at)
        else:
            file.seek(at)
            file.write(dice.randbytes(min(dice.choice([1, 16, 512, 8192]), size - at)))
    damaged = machine.database.read_bytes()
    after = await machine.start()
    await machine.initialize(after)
    await after.result("chat/list", {})
    await after.request("chat/open", {"chatId": chat})
    await after.ask(f"{chat}-new", "hi")
    assert "Hello again." in after.texts(f"{chat}-new", "assistant")
    await after.end()
    kept = sorted(machine.store.glob("chats.damaged-*.db"))
    assert len(kept) == len([message for message in after.messages if "damaged" in message]), "it is said once"
    # SQLite moves what is in a WAL into the database when it is closed, if it can.
    if kept and not any(file.suffix == ".db-wal" for file in files):
        assert kept[0].read_bytes() == damaged, "the damaged file was changed"
    machine.check_database()
    shutil.rmtree(machine.store)
    return await machine.connect()


async def forbid_writing(machine: Machine, client: Client, dice: random.Random, chat: str) -> Client:
    """The database cannot be written when the server starts. It says so, shows the chats, and answers. The next server
    stores them when it can be written again."""
    await tell(client, chat, write_prompts(machine, dice, chat))
    await client.end()
    with ReadOnly(machine):
        reader = await machine.connect()
        assert (await reader.result("chat/open", {"chatId": chat}))["found"]
        await reader.ask(f"{chat}-new", "hi")
        assert "Hello again." in reader.texts(f"{chat}-new", "assistant")
        assert str(machine.database) in "".join(reader.messages)
        await reader.end()
    after = await machine.connect()
    await machine.check_kept(client, after, chat)
    return after


class ReadOnly:
    """The store cannot be written. Root may write whatever the modes of files say, so for root it is another mount."""

    def __init__(self, machine: Machine) -> None:
        self._store = machine.store

    def __enter__(self) -> None:
        if os.geteuid():
            for path in (*self._store.iterdir(), self._store):
                path.chmod(path.stat().st_mode & ~0o222)
        else:
            for options in (("--bind", str(self._store)), ("-o", "remount,ro,bind")):
                subprocess.run(["mount", *options, str(self._store)], check=True)  # noqa: S607  # ours

    def __exit__(self, *_: object) -> None:
        if os.geteuid():
            for path in (self._store, *self._store.iterdir()):
                path.chmod(path.stat().st_mode | 0o200)
        else:
            subprocess.run(["umount", str(self._store)], check=True)  # noqa: S607  # ours


async def kill_one_of_two(machine: Machine, client: Client, dice: random.Random, chat: str) -> Client:
    """Two servers work on one store, and one is killed at a random message. The other one is not disturbed, and opens
    the chat of the killed one."""
    other = await machine.connect()
    at_message(client, dice.randint(1, MESSAGES), client.process.kill)

    async def work() -> None:
        with suppress(Died):
            await tell(client, chat, write_prompts(machine, dice, chat))
            client.process.kill()
        await drain(client)

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(work())
        tasks.create_task(tell(other, f"{chat}-other", [f"mark {chat}-x", f"talk {chat}-y"]))
    await client.process.wait()
    assert "It is done" in other.texts(f"{chat}-other", "assistant")
    await machine.check_kept(client, other, chat)
    machine.check_marks(other, chat)
    # What the killed one has left waits for the next start.
    await other.end()
    return await restart(machine, client, machine.list_temporary())


async def kill_purge(machine: Machine, client: Client, dice: random.Random, chat: str) -> Client:
    """`jupyter-eca purge` is killed at a random moment. The next one ends its work, and other chats are whole."""
    other = f"{chat}-other"
    await tell(client, chat, [f"mark {chat}-secret", f"talk {chat}-secret"])
    await tell(client, other, [f"talk {other}"])
    await client.end()
    killed = await machine.run("purge", "--chat", chat, "--yes")
    assert killed.stdout is not None
    await killed.stdout.readline()
    await asyncio.sleep(dice.random() * 0.1)  # most of its work is done in this time; no event tells how much
    with suppress(ProcessLookupError):
        killed.kill()
    await killed.communicate()
    again = await machine.run("purge", "--chat", chat, "--yes")
    output, _ = await again.communicate()
    assert again.returncode == 0 or other in output.decode(), output.decode()
    machine.check_database()
    # The first part of the name is in the other chat, too.
    found = [path.name for path in machine.store.rglob("*") if path.is_file() and b"secret" in path.read_bytes()]
    assert found == [], "a deleted text is left"
    after = await machine.connect()
    await machine.check_kept(client, after, other)
    return after


async def stall_server(machine: Machine, client: Client, dice: random.Random, chat: str) -> Client:
    """Nothing of the server runs for a second, at three random messages, as on a machine that swaps."""
    process = psutil.Process(client.process.pid)
    stalls: list[asyncio.Task[None]] = []
    moments = {client.count + dice.randint(1, MESSAGES) for _ in range(3)}

    async def stall() -> None:
        process.send_signal(signal.SIGSTOP)
        await asyncio.sleep(STALL_SECONDS)
        process.send_signal(signal.SIGCONT)

    def count(_: Message) -> None:
        if client.count in moments:
            stalls.append(asyncio.create_task(stall()))

    client.on_message = count
    await tell(client, chat, write_prompts(machine, dice, chat))
    client.on_message = lambda _: None
    await asyncio.gather(*stalls)
    await machine.check_kept(client, client, chat)
    machine.check_marks(client, chat)
    return client


async def turn_clock(machine: Machine, client: Client, dice: random.Random, chat: str) -> Client:
    """The clock of the server jumps by up to two days, forwards and backwards, at random messages. The monotonic clock
    goes on, as the systems promise."""
    await client.end()
    offset = machine.folder / "clock"
    offset.write_text("+0")
    clock = {
        "LD_PRELOAD": str(FAKE_CLOCK),
        "FAKETIME_TIMESTAMP_FILE": str(offset),
        "FAKETIME_NO_CACHE": "1",
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
    }
    turned = await machine.connect(clock)
    moments = {turned.count + dice.randint(1, MESSAGES): dice.randint(-172_800, 172_800) for _ in range(3)}

    def jump(_: Message) -> None:
        if turned.count in moments:
            offset.write_text(f"{moments[turned.count]:+d}")

    turned.on_message = jump
    await tell(turned, chat, write_prompts(machine, dice, chat))
    turned.on_message = lambda _: None
    await machine.check_kept(turned, turned, chat)
    machine.check_marks(turned, chat)
    await turned.end()
    after = await machine.connect()
    await machine.check_kept(turned, after, chat)
    return after


async def cut_network(machine: Machine, client: Client, dice: random.Random, chat: str) -> Client:
    """At a random message nothing arrives any more from the vendor of the model, and no connection is closed. It is so
    until the server gives the answer up, or for a moment. The turn ends, and the next one is answered."""
    assert machine.partition is not None
    partition, is_short = machine.partition, dice.random() < 0.3

    def cut() -> None:
        partition.cut()
        if is_short:
            asyncio.get_running_loop().call_later(STALL_SECONDS / 2, partition.heal)

    at_message(client, dice.randint(1, MESSAGES), cut)
    telling = asyncio.create_task(tell(client, chat, [f"talk {chat}-0", f"mark {chat}-1"]))
    await asyncio.wait([telling], timeout=2 * STALL_SECONDS)
    partition.heal()
    await telling
    client.on_message = lambda _: None
    partition.heal()
    await machine.check_kept(client, client, chat)
    machine.check_marks(client, chat)
    return client


FAULTS: dict[str, Fault] = {
    "stall server": stall_server,
    "turn clock": turn_clock,
    "cut network": cut_network,
    "kill server": kill_server,
    "kill server in command": kill_server_in_command,
    "kill MCP server": kill_mcp_server,
    "stop server": stop_server,
    "lock database": lock_database,
    "fill disk": fill_disk,
    "damage database": damage_database,
    "forbid writing": forbid_writing,
    "kill one of two": kill_one_of_two,
    "kill purge": kill_purge,
}

# The library of Debian's package `faketime`, which gives a process another clock.
FAKE_CLOCK = next(Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"), None)

BLOCK = 10
"""So many seeds that follow each other are run on machines of the same kind."""

# How often each comes in a block. Machines of every second block have an MCP server: then a server process imports the
# SDK when it starts, which takes several times as long. The first two blocks are the sample that always runs. They
# start few processes.
SAMPLE_SHARES = (
    {
        "kill server": 2,
        "kill server in command": 1,
        "kill one of two": 1,
        "damage database": 1,
        "lock database": 2,
        "fill disk": 3,
    },
    {"kill MCP server": 6, "stop server": 2, "lock database": 1, "fill disk": 1},
)
SHARES = (
    {
        "kill server": 2,
        "turn clock": 1,
        "kill purge": 1,
        "kill server in command": 1,
        "kill one of two": 1,
        "damage database": 1,
        "forbid writing": 1,
        "lock database": 1,
        "fill disk": 1,
    },
    {"kill MCP server": 4, "kill server": 2, "stop server": 1, "stall server": 1, "lock database": 1, "fill disk": 1},
)
# In these blocks the model is asked over the network.
NETWORK_SHARES = {"cut network": 4, "kill server": 3, "stop server": 1, "stall server": 1, "kill server in command": 1}


def choose(seed: int) -> str:
    """The fault of a seed."""
    block = seed // BLOCK
    if asks_by_network(block):
        shares = NETWORK_SHARES
    else:
        shares = SAMPLE_SHARES[block] if block < len(SAMPLE_SHARES) else SHARES[block % len(SHARES)]
    names = [name for name, share in shares.items() for _ in range(share)]
    name = random.Random(block).sample(names, BLOCK)[seed % BLOCK]
    return "kill server" if name == "turn clock" and FAKE_CLOCK is None else name


def asks_by_network(block: int) -> bool:
    """Whether the model is asked over the network in a block."""
    return block % 5 == 4


if sys.platform == "win32":  # there are no such signals and limits
    FAULTS.clear()
