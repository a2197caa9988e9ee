"""Works on the events of a stored chat: recovery after a crash, pages, recordings, exports, subagents.

It must not read the store: `host/store` does. What happens within a step is in `engine/step`.
"""
