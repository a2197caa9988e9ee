"""One module a model vendor; each imports its SDK on first use."""
