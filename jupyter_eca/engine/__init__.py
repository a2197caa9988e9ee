"""Owns the decisions of the assistant, as pure functions: `step(state, input) -> (state, events, effects)`.

It must not wait, read a clock or open a file. `host` is its neighbour: it runs the effects.
"""

# `jupyter_eca.engine.delta` was documented in 0.1.0; the next release drops `apps/earlier_paths` and this line.
__path__.append(f"{__path__[0]}/../apps/earlier_paths/engine")
