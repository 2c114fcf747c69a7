"""The study ``ridge-grokking``; see ``study.py``."""
