"""The laboratory: from a plan to a page."""
