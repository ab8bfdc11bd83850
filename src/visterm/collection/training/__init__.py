"""From captions to a version that answers: training set, trainer, index; the starter too."""
