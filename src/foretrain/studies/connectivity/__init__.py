"""The study ``connectivity``; see ``study.py``."""
