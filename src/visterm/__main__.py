"""``python -m visterm``: the command line."""

from visterm.cli import console

if __name__ == "__main__":
    console()
