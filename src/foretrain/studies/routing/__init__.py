"""The study ``routing``; see ``study.py``."""
