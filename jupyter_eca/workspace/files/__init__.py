"""Owns access to the files of the workspace: listing them, searching their names, reading and changing their text, and
replacing a file as a whole. It must not know tools, which are in `plugins/tools/`."""
