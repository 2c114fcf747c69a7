"""The study ``planted-modules``; see ``study.py``."""
