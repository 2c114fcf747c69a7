"""The study ``mask-spectrum``; see ``study.py``."""
