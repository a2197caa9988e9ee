"""The words on the wire: models, the JSON-RPC codec and the table of methods. Pure: no clock, no loop, no file."""
