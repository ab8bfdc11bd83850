"""Scores → probabilities and cut-offs: what a score is worth, and where good matches end."""
