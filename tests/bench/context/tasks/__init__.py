"""The tasks, one a module: each exports `TASK`."""
