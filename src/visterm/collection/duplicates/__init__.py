"""Near-duplicates: groups of pictures that are one picture to their owner."""
