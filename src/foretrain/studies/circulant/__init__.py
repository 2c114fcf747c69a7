"""The study ``circulant``; see ``study.py``."""
