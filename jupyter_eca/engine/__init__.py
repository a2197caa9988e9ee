"""Owns the decisions of the assistant, as pure functions: `step(state, input) -> (state, events, effects)`.

It must not wait, read a clock or open a file. `host` is its neighbour: it runs the effects.
"""

# Plugs that were written for 0.1.0 import `jupyter_eca.engine.delta`. This line lets Python find that module in
# `apps/earlier_paths`. The next release drops the folder and this line.
__path__.append(f"{__path__[0]}/../apps/earlier_paths/engine")
