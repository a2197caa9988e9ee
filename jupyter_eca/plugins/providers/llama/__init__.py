"""Tools for models inside this process: which models know them, how they are told, how their calls come back."""
