"""How it learns: steps, lanes, workers and sweeps."""
