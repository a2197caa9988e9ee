"""Review and undo of what a turn changed, decided without touching a file."""
