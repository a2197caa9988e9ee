"""The methods of ECA, one module for each subject. Each exports `HANDLERS`: the name of a method, and its function."""
