"""What is kept: the catalogue, its lock and versions, feature rows, and what is open of them."""
