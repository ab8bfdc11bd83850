"""What visterm knows about words before anybody has captioned a picture."""

from visterm.starter.starter import Starter, load_starter, stay_near

__all__ = ["Starter", "load_starter", "stay_near"]
