"""The panel as a widget below a cell. `widget` is the class that users know, `command` is `%eca panel`."""
