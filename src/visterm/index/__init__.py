"""From feature rows and word columns to scores, and from scores to the best pictures.

`feature_file` holds the rows of pictures, 8 bits a number; `columns` makes and keeps what each word
says of every row, 16 bits a value; `scan` adds columns up to one score a row.
"""
