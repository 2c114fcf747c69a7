"""Claims: sentences that are judged, the intervals they are judged by, and the table they are read in."""
