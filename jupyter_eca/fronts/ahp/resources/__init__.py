"""Owns resources of the Agent Host Protocol: files on the server, files at the client, attachments of messages."""
