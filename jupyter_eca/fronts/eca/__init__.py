"""The ECA protocol: one `EcaSession` for each connection, over any link. What each method does is in `methods/`."""
