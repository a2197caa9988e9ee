"""What is added in one file: providers, tools and contexts, found by `loader`."""
