"""The study ``image-grokking``; see ``study.py``."""
