"""Owns access to what the assistant works on: files, notebooks, kernels, background jobs and diagnostics.

The room must not know chats, tools or clients. Its ports are in `ports.py`; tools and contexts that use them are in
`plugins/`.
"""
