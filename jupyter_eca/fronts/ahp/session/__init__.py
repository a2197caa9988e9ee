"""One session of the Agent Host Protocol: its state projected from the events of a chat."""
