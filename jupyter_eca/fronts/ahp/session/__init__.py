"""Owns one session of the Agent Host Protocol: its state is projected from the events of a chat."""
