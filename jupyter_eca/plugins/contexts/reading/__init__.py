"""How contexts read the open notebook, and what was looked at recently."""
