"""A chat in memory."""
