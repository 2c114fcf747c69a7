"""The race between pathways."""
