"""Where pictures lie: folders, prefixes of object stores and web servers, tar shards, tables.

A room of readers. What lies below the collection's folder is called by its path there, all else by
its URL, and a shard is a folder of its members. Importing this loads nothing heavy; fsspec comes
with the first URL and pyarrow with the first Parquet table.
"""
