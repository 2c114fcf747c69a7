"""The HTML page that a run leaves: one file, readable offline and on a phone."""
