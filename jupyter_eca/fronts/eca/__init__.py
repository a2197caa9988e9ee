"""Owns the ECA protocol: one `EcaSession` for each connection, over any link. `methods/` has the methods."""
