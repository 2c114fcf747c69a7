"""Readings of learning curves."""
