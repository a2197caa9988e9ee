"""The assistant, or another behind the same port, as a server of the Model Context Protocol. Imports the SDK: late."""
