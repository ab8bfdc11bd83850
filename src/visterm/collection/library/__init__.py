"""What people do with pictures that are there: describe, explain, teach, export, find copies."""
