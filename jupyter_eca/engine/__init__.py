"""What the assistant decides, as pure functions: `chat.step(state, input) -> (state, events, effects)`."""

# `jupyter_eca.engine.delta` was documented in 0.1.0; the next release drops `apps/earlier_paths` and this line.
__path__.append(f"{__path__[0]}/../apps/earlier_paths/engine")
