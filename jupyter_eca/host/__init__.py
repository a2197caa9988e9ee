"""The imperative shell: feeds the engine, runs its effects, stores events and sends them to clients."""
