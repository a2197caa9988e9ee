"""The Agent Host Protocol front. Knows no server that runs it.

`reducers` are the protocol's own, pure; `hub` holds the state, numbers every action and keeps the last ones for who
comes back; `session` joins one chat of ours to one session of theirs, by `projection` one way and `carrying` the other;
`rules` says what a client may do; `connection` is one client, `commands` what it can ask for. What is special to
version 0.1.0 on the wire is in `protocol.ahp` and `dialect`.
"""
