"""Provenance: what runs, predictions and verdicts are made of, and what has changed since they were sealed."""
