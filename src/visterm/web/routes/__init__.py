"""The API's operations, one file a subject; each parses, asks the collection, and serializes."""
