"""What a theory says of a network and data that the user brings."""
