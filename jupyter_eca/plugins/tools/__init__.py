"""The tools that a model may call: one module for each subject, with a constant `TOOLS`. `base` says what a tool is."""
