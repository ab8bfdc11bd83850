"""How a model is run on a data set: protocol, features, a single look at the test pictures."""
