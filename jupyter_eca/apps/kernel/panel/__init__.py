"""Owns the panel, which is the chat with the assistant, as a widget below a cell. `widget` has the class `Panel`, which
users import. `command` is `%eca panel`.

The widget's side in the page is `labextension/src/widget/`.
"""
