"""Replays conversations: `python -m tests.simulation SEED` prints what happens in one, and what breaks in it;
`python -m tests.simulation FIRST COUNT` runs many, and prints the seeds that fail. With `host` before the
numbers, they are those of stories of a host."""

from __future__ import annotations

import asyncio
import sys
import tempfile
import time
import traceback
from pathlib import Path
from typing import cast

from tests.simulation.conversation import Conversation
from tests.simulation.host_story import HostStory


def replay(seed: int) -> bool:
    """Print what happens in a conversation. Return whether all rules hold."""
    conversation = Conversation(seed)
    try:
        conversation.run()
    except Exception:  # noqa: BLE001  # whatever breaks is what is looked for
        print(conversation.describe())
        traceback.print_exc()
        return False
    print(conversation.describe())
    return True


def find_failures(first: int, count: int) -> list[int]:
    """Return the seeds whose conversations break a rule."""
    failures: list[int] = []
    for seed in range(first, first + count):
        try:
            Conversation(seed).run()
        except Exception as error:  # noqa: BLE001  # whatever breaks is what is looked for
            failures.append(seed)
            print(f"python -m tests.simulation {seed}  # {type(error).__name__}: {str(error)[:120]}", flush=True)
    return failures


def run_host_story(seed: int) -> HostStory:
    """Run a story of a host in a folder of its own. Raises: what breaks in it, with the story as its note."""
    with tempfile.TemporaryDirectory() as folder:
        story = HostStory(seed, Path(folder))
        try:
            asyncio.run(story.run())
        except BaseException as error:
            error.add_note("\n".join(story.trace))
            raise
    return story


def _find_cause(error: BaseException) -> BaseException:
    """Return the first error of a group."""
    return _find_cause(cast("BaseExceptionGroup", error).exceptions[0]) if hasattr(error, "exceptions") else error


def find_host_failures(first: int, count: int) -> list[int]:
    """Return the seeds whose stories of a host break a rule."""
    failures: list[int] = []
    for seed in range(first, first + count):
        try:
            run_host_story(seed)
        except Exception as error:  # noqa: BLE001  # whatever breaks is what is looked for
            failures.append(seed)
            cause = _find_cause(error)
            print(f"python -m tests.simulation host {seed}  # {type(cause).__name__}: {str(cause)[:120]}", flush=True)
    return failures


def main(words: list[str]) -> int:
    """Return the exit status: 1 when a rule was broken."""
    of_host = words[:1] == ["host"]
    numbers = [int(word) for word in words[of_host:]]
    if len(numbers) == 1:
        if not of_host:
            return not replay(numbers[0])
        print("\n".join(run_host_story(numbers[0]).trace))
        return 0
    since = time.process_time()
    failures = (find_host_failures if of_host else find_failures)(*numbers)
    print(f"{numbers[1]} conversations, {len(failures)} failures, {time.process_time() - since:.1f} s of CPU")
    return bool(failures)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
