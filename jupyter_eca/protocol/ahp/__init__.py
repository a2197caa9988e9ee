"""Owns the models of the Agent Host Protocol, version 0.1.0: the shared states (`state.py`), the actions that change
them (`actions.py`), and the params and results of commands (`commands.py`).

In this protocol, a server and its clients share states: one for each session, for example. A state changes only by
actions, which all sides apply in the same order with the same pure functions, the reducers.

The wire format of 0.1.0 is only here and in `fronts/ahp/dialect.py`. Later versions change this:

- 0.2: All commands and notifications have a `channel`. The fields `session`, `terminal` and `resource` are removed. The
  root is `ahp-root://`, and a session is `ahp-session:/ID`. Each notification is a method. `diffs` become changesets.
  `resourceResolve`, `resourceMkdir`, `createResourceWatch` and the error -32011 are added.
- 0.3: `userMessage` is renamed to `message`, and `toolClientId` becomes `contributor`. MCP servers are customizations.
  `initialize` has `capabilities`.
- 0.4: Turns belong to chats (`ahp-chat:/`, actions `chat/*`) and no longer to sessions.
- 0.5: A session may have several active clients. Lists are paged. `fetchTurns` loads turns into the state.
- 0.6: Questions are parts of the answer. Turns have times. A tool call may wait for a sign-in.

A front for a later version can use the same reducers and the same sessions. It needs other addresses, and must divide a
session into a session and its chats. In 0.x, versions with different minor numbers are not compatible.
"""

from typing import Final

# The version that we speak, the URI of the root state, and the name of our agent provider.
VERSION: Final = "0.1.0"
ROOT: Final = "agenthost:/root"
PROVIDER: Final = "eca"
