"""One turn: its set-up, the effects it runs, the tools and contexts it is given."""
