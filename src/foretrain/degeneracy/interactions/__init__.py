"""The interaction basis of a network, its graph and its modules."""
