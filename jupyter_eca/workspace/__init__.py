"""What an assistant may touch: files, notebooks, kernels, background jobs, and what is wrong in them.

The room must not know chats, tools or clients. Its ports are in `ports.py`; tools and contexts that use them are in
`plugins/`.
"""
