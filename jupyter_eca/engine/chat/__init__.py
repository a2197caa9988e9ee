"""Works on the events of a stored chat: recovery after a crash, pages, recordings, exports, subagents.

It must not read the store: `host/store` does. `engine/step` decides what happens in a live chat.
"""
