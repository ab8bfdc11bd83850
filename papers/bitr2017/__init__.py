"""Verma and Jawahar, A support vector approach for cross-modal search of images and texts, 2017."""
