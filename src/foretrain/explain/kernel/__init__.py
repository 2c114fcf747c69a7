"""The kernel of a network at its start, and what it predicts."""
