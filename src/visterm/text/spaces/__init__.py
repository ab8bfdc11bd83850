"""Text spaces: how a query, a caption, a phrase or a label becomes a vector."""
