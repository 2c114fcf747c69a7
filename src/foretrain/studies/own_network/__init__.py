"""The study ``own-network``; see ``study.py``."""
