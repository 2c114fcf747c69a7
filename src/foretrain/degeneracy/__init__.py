"""How much of a network is free, and the basis in which the rest is visible."""
