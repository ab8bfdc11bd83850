"""Taking things out of a collection and bringing them back: lists, tables, folders, backups."""
