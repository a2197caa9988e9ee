"""Owns the messages of OpenAI's Responses API as plain data. It must not know an SDK or a connection:
`providers.openai` does.
"""
