"""Owns resources of the Agent Host Protocol, which are contents with a URI: files on the server, files at the client,
attachments of messages, and files as they were before and after a change.
"""
