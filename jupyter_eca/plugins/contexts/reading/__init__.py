"""How contexts read the open notebook (`open_notebook`), and what they saw a moment ago (`recent_look`)."""
