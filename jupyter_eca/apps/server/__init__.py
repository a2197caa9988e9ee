"""Runs the assistant inside a Jupyter server: one host (the object that runs all chats), behind Jupyter's own
authentication.

Only this folder may import jupyter_server and tornado. Heavy modules are imported when the first client comes.
"""
