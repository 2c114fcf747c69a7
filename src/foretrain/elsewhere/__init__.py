"""Networks, weights and curves that come from outside foretrain."""
