"""Notebooks: files, shared documents, their cells, runs and lock files."""
