"""Works on the events of a stored chat: recovery after a crash, pages, recordings, exports, subagents.

It must not read the store: `host/store` does. How a live chat goes on is decided in `engine/step`.
"""
