"""Owns the keys of the providers: which one is used, and how a user signs in to get one. No module here is a plug."""
