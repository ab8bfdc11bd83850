"""Search a folder of your own by the words that your own captions use."""

import tempfile
from pathlib import Path

from visterm import Collection
from visterm.datasets import draw_scenes

with tempfile.TemporaryDirectory() as folder:
    # Stand-ins for your pictures; half of them come with a caption, as in a table of yours.
    drawn = draw_scenes(folder, 120, size=(96, 64))
    table = Path(folder) / "mine.csv"
    lines = [f"{path.name},{' '.join(words)}" for path, words in drawn[:60]]
    table.write_text("file,caption\n" + "\n".join(lines))

    with Collection.open(folder) as collection:
        collection.add()
        collection.caption_from(table)
        collection.caption(drawn[0][0], "the view from grandma's window: " + " ".join(drawn[0][1]))
        trained = collection.train()
        print(f"learnt {trained.words} words from {trained.pictures} captioned pictures")

        # Every picture is ranked, also the sixty that nobody has written anything about.
        response = collection.search("night city -people", k=5)
        truth = {path.resolve(): words for path, words in drawn}
        for result in response.results:
            seen = " ".join(truth[result.path.resolve()])
            print(f"{result.score:6.2f}  {result.path.name}  ({seen})")
        print(f"left out, because no caption has them: {', '.join(response.unknown) or 'nothing'}")
