"""What several studies train: parameter blocks, draws on the host, programs, and what they observe."""
