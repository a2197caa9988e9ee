"""Owns what users do besides turns: they read, copy and delete chats, review changes, estimate costs, try keys, trust
folders and set defaults.
"""
