"""The ECA protocol: one `EcaSession` for each connection, over any link."""
