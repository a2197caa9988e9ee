"""The assistant inside the user's kernel: `%eca`, `%%eca`, the panel widget and the kernel whose cells are prompts.

Everything here may import IPython; nothing outside of this room may. `extension` is its door: it loads and unloads us.
"""
