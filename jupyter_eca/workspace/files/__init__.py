"""Files of the workspace: search, listing, text edits and atomic writes."""
