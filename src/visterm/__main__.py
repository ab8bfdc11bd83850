"""``python -m visterm``: the command line."""

from visterm.cli import main

if __name__ == "__main__":
    main()
