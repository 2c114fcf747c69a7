"""The study ``modules``; see ``study.py``."""
