"""Background commands and the shell they run in."""
