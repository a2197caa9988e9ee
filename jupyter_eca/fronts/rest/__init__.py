"""The MCP chat front: REST and server-sent events, as an ASGI application. Knows no server that runs it.

`projection` makes a turn's events the contract's, `readers` brings them here, `front` is what can be asked for, `app`
is that over HTTP. `fronts.http.gate` is what a server of our own needs around it; inside Jupyter its door stands there.
"""
