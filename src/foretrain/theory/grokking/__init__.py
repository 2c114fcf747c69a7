"""Grokking."""
