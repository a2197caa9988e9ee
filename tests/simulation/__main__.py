"""Replays conversations: `python -m tests.simulation SEED` prints what happens in one, and what breaks in it;
`python -m tests.simulation FIRST COUNT` runs many, and prints the seeds that fail."""

from __future__ import annotations

import sys
import time
import traceback

from tests.simulation.conversation import Conversation


def replay(seed: int) -> bool:
    """Print what happens in a conversation. Return whether all rules hold."""
    conversation = Conversation(seed)
    try:
        conversation.run()
    except Exception:  # noqa: BLE001  # whatever breaks is what is looked for
        print("\n".join(conversation.trace))
        traceback.print_exc()
        return False
    print("\n".join(conversation.trace))
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


if __name__ == "__main__":
    numbers = [int(word) for word in sys.argv[1:]]
    if len(numbers) == 1:
        sys.exit(not replay(numbers[0]))
    since = time.process_time()
    failures = find_failures(*numbers)
    print(f"{numbers[1]} conversations, {len(failures)} failures, {time.process_time() - since:.1f} s of CPU")
    sys.exit(bool(failures))
