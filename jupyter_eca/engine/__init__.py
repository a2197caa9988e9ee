"""What the assistant decides, as pure functions: `chat.step(state, input) -> (state, events, effects)`."""
