"""A living folder: files that come, go, move and change are noticed as they do."""
