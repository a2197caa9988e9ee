"""What a user can point at: one module a kind, each exporting `CONTEXT`."""
