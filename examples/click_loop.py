"""Improve a ranking by clicks: say yes or no to what is found, and search again."""

import tempfile

from visterm import Collection
from visterm.datasets import draw_scenes

QUERY, WANTED = "field", {"field", "people"}  # we say "field", and mean those with people

with tempfile.TemporaryDirectory() as folder:
    drawn = draw_scenes(folder, 160, size=(96, 64))
    wanted = {path.name for path, words in drawn if set(words) >= WANTED}
    with Collection.open(folder) as collection:
        collection.add()
        collection.caption_from(f"{folder}/captions.tsv")
        collection.train()

        for clicks in (0, 10, 20, 30):
            found = [result.path.name for result in collection.search(QUERY, k=10).results]
            good = sum(name in wanted for name in found)
            print(f"after {clicks} clicks, {good} of 10 are fields with people")
            for name in found:  # a person would click; each click counts at once
                collection.judge(QUERY, f"{folder}/{name}", relevant=name in wanted)

        # Clicks are kept in a log: what they changed can be taken back, one by one or at once.
        last = collection.undo()
        print(f"took back a {'yes' if last.relevant else 'no'} for {last.query!r}")
        print(f"took back {collection.forget_judgements()} more: as if none had been given")
