"""The study ``rank-one``; see ``study.py``."""
