"""What belongs to single pictures: records, captions, thumbnails, and words to complete."""
