"""Owns what the providers that ask a server share: the clients of the SDKs, the errors that users read, and the header
that says when to ask again. No module here is a plug.
"""
