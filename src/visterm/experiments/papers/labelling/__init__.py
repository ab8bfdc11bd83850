"""Labels of pictures as probabilities, for the tables of several papers."""
