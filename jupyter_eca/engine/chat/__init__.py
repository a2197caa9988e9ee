"""A stored chat, seen from outside the step: recovery, pages, recordings, exports, subagents."""
