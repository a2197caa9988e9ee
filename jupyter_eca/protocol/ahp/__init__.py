"""The Agent Host Protocol, version 0.1.0: what it is made of. `state` is what is shared, `actions` what changes it,
`commands` what can be asked for.

Only here and in `fronts/ahp/dialect` is it said how 0.1.0 writes things. What later versions change:

- 0.2: every command and notification names its `channel`, the `session`, `terminal` and `resource` fields go away, root
  is `ahp-root://`, sessions are `ahp-session:/ID`; notifications become methods of their own; `diffs` are changesets;
  `resourceResolve`, `resourceMkdir`, `createResourceWatch` and error -32011 come.
- 0.3: `userMessage` is `message`, `toolClientId` a `contributor`; tool servers are customizations; `initialize` has
  `capabilities`.
- 0.4: turns move from sessions to chats (`ahp-chat:/`, actions `chat/*`).
- 0.5: several active clients, paged lists, `fetchTurns` loads turns into the state.
- 0.6: questions are parts of the answer, turns have times, tool calls may wait for a sign-in.

Reducers and what a session does stay; addresses and the split of session and chat do not. In 0.x another minor number
is another protocol.
"""

from typing import Final

VERSION: Final = "0.1.0"
ROOT: Final = "agenthost:/root"
PROVIDER: Final = "eca"
