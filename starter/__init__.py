"""How the starter model is made: `python -m starter.train`. Nothing here is installed."""
