"""From a picture to words: what it likely shows, and why it was found."""
