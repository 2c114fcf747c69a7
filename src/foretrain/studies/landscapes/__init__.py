"""The study ``landscapes``; see ``study.py``."""
