"""Owns one session of the Agent Host Protocol. Its state is built from the events of one chat.

It must not know connections (`../connection.py`), or how a state is changed by an action (`../reducers/`).
"""
