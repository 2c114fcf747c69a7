"""What is learned: data, their statistics, gates and masks."""
