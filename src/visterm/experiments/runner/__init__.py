"""How a model is run on a data set: protocol, features, a single look at the test pictures."""

from visterm.compute import running_on

__all__ = ["running_on"]
