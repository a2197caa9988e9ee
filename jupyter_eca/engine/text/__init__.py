"""Text that people type, parsed: mentions, slash commands and shell templates."""
