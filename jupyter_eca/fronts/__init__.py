"""Owns the protocols by which other programs reach the host. Each front shows the same stream of events in its
protocol's terms."""
