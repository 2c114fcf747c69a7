"""The study ``coordinate-check``; see ``study.py``."""
