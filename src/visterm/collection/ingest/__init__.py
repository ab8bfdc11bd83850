"""From files to vectors: scanning folders, hashing, decoding and describing, batch by batch."""
