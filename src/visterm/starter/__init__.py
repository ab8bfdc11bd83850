"""What visterm knows about words before anybody has captioned a picture."""

from visterm.starter.encoder_starter import EncoderStarter, encoder_starter
from visterm.starter.starter import Starter, load_starter, starter_for

__all__ = ["EncoderStarter", "Starter", "encoder_starter", "load_starter", "starter_for"]
