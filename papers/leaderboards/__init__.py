"""Public leaderboards of the same pictures: retrieval on Flickr8k, annotation at five words."""
