"""The study ``grokking-phases``; see ``study.py``."""
