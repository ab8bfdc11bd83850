"""Search for the settings that rank validation pictures best."""
