"""The panel as a widget below a cell."""
