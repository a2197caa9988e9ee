"""Owns the assistant inside the user's kernel: `%eca`, `%%eca`, the panel widget, and the kernel whose cells are
prompts.

Only this folder may import IPython, ipywidgets and anywidget. `extension.py` loads and unloads all of it.
"""
