"""The study ``pathway-race``; see ``study.py``."""
