"""Training that several studies share: parameter blocks, draws on the host, programs, and their observations."""
