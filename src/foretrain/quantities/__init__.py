"""Quantities read off a trajectory or a trained network."""
