"""Whether a tool call may run, must be asked about or is denied, and the reason shown to the user."""
