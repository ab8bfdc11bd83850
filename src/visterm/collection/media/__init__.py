"""What belongs to single pictures: records, captions, thumbnails, descriptions, explanations."""
