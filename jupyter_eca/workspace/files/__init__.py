"""Files of the workspace: which there are, searching their names, reading and changing text, and writing a file as a
whole."""
