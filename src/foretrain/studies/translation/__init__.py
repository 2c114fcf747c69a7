"""The study ``translation``; see ``study.py``."""
