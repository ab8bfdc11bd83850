"""A teacher that asks: which pictures to ask a person about, and what their answers bring."""
