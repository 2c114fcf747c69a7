"""The study ``initialization``; see ``study.py``."""
