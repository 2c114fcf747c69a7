"""The study ``trained-fraction``; see ``study.py``."""
