"""The assistant beside others that people would use: `python -m tests.bench.peers --help`, or `make bench-peers`.

Each peer is a row of data in `peers.py`, and has an environment of its own in a cache folder. All ask the same model
(`model_server.py`). `rows.py` measures the rows of the table; the rounds of all peers take turns. The figures are in
`figures.json`, from which `report.py` writes the tables and the picture of the documentation. A peer that cannot do a
row has the reason in place of figures.
"""
