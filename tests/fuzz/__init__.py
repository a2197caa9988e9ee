"""Damaged inputs for every parser that reads what others have written. See `targets` and `mutation`."""
