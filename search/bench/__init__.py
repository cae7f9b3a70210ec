"""Strategies against each other on recorded landscapes, over many seeds, in process.

`episode.py` plays one search, `flat.py` holds the two baselines that know no strategy, `tournament.py` plays all of
them over the cores, `summary.py` makes figures of the traces, `table.py` and `figure.py` show them.
"""
