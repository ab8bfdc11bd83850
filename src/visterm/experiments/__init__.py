"""Models measured on data sets, and the tables of the papers beside ours."""
