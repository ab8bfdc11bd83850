"""The tables of a catalogue, as the steps that lead from each version of them to the next.

A new catalogue takes every step; an old one takes those it lacks. A step that has been released is
never edited: what it left out is the business of a later one.
"""

from __future__ import annotations

import sqlite3

from visterm.collection.store.caption_schema import CAPTION_WORDS, NAMES
from visterm.errors import VistermError

_PICTURES = """
-- A picture is its content: every file with the same bytes is the same picture. How many files of
-- it there are now is counted by triggers, so that no code can forget to.
CREATE TABLE pictures (
    id INTEGER PRIMARY KEY AUTOINCREMENT,   -- never used twice: the index knows pictures by it
    hash BLOB NOT NULL UNIQUE,              -- SHA-256 of the file
    present INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE places (
    id INTEGER PRIMARY KEY,
    folder TEXT NOT NULL,                   -- below the collection's folder, "" for itself
    name TEXT NOT NULL,
    picture INTEGER NOT NULL REFERENCES pictures ON DELETE CASCADE,
    size INTEGER NOT NULL,
    mtime_ns INTEGER NOT NULL,
    sidecars TEXT NOT NULL,                 -- what lay beside it when its captions were read
    vanished INTEGER NOT NULL DEFAULT 0,
    UNIQUE (folder, name)
);
CREATE INDEX places_by_picture ON places (picture);
CREATE INDEX places_by_name ON places (name);
CREATE TABLE skipped (
    folder TEXT NOT NULL,
    name TEXT NOT NULL,
    size INTEGER NOT NULL,
    mtime_ns INTEGER NOT NULL,
    reason TEXT NOT NULL,
    PRIMARY KEY (folder, name)
) WITHOUT ROWID;
CREATE TABLE captions (
    picture INTEGER NOT NULL REFERENCES pictures ON DELETE CASCADE,
    source TEXT NOT NULL,
    text TEXT NOT NULL,
    PRIMARY KEY (picture, source)
) WITHOUT ROWID;
CREATE TABLE feedback (
    query TEXT NOT NULL,
    picture INTEGER NOT NULL REFERENCES pictures ON DELETE CASCADE,
    answer INTEGER NOT NULL CHECK (answer IN (0, 1)),
    time REAL NOT NULL,
    PRIMARY KEY (query, picture)
) WITHOUT ROWID;
CREATE TABLE settings (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
"""

_ROWS = """
CREATE TABLE extractors (
    key TEXT PRIMARY KEY,                   -- name and version, as in cnn-1
    file TEXT NOT NULL,
    sha256 TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE segments (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    extractor TEXT NOT NULL,
    rows INTEGER NOT NULL,
    width INTEGER NOT NULL,
    files TEXT NOT NULL                     -- JSON: name to SHA-256
);
CREATE TABLE rows (
    extractor TEXT NOT NULL,
    picture INTEGER NOT NULL REFERENCES pictures ON DELETE CASCADE,
    segment INTEGER NOT NULL REFERENCES segments,
    place INTEGER NOT NULL,
    PRIMARY KEY (extractor, picture)
) WITHOUT ROWID;
CREATE INDEX rows_by_segment ON rows (segment, place);
CREATE TABLE versions (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    model TEXT NOT NULL,
    extractor TEXT NOT NULL,
    words INTEGER NOT NULL,
    captioned INTEGER NOT NULL,
    avgp REAL,
    time REAL NOT NULL,
    files TEXT NOT NULL                     -- JSON: name to SHA-256
);
"""

# Pictures of which the index may not have heard yet. Whatever changes what can be found writes
# here in the same transaction, so a kill between catalogue and index is mended by the next command.
_PENDING = """
CREATE TABLE pending (picture INTEGER PRIMARY KEY);
CREATE TRIGGER place_added AFTER INSERT ON places WHEN NOT new.vanished BEGIN
    UPDATE pictures SET present = present + 1 WHERE id = new.picture;
END;
CREATE TRIGGER place_gone AFTER DELETE ON places WHEN NOT old.vanished BEGIN
    UPDATE pictures SET present = present - 1 WHERE id = old.picture;
END;
CREATE TRIGGER place_changed AFTER UPDATE OF picture, vanished ON places
WHEN old.picture != new.picture OR old.vanished != new.vanished BEGIN
    UPDATE pictures SET present = present - 1 WHERE id = old.picture AND NOT old.vanished;
    UPDATE pictures SET present = present + 1 WHERE id = new.picture AND NOT new.vanished;
END;
CREATE TRIGGER presence_changed AFTER UPDATE OF present ON pictures
WHEN (old.present > 0) != (new.present > 0) BEGIN
    INSERT OR IGNORE INTO pending VALUES (new.id);
END;
CREATE TRIGGER picture_forgotten AFTER DELETE ON pictures BEGIN
    INSERT OR IGNORE INTO pending VALUES (old.id);
END;
CREATE TRIGGER row_added AFTER INSERT ON rows BEGIN
    INSERT OR IGNORE INTO pending VALUES (new.picture);
END;
CREATE TRIGGER row_gone AFTER DELETE ON rows BEGIN
    INSERT OR IGNORE INTO pending VALUES (old.picture);
END;
"""

# When each folder was last listed, so that a search sees new pictures without listing them all.
_FOLDERS = """
CREATE TABLE folders (folder TEXT PRIMARY KEY, mtime_ns INTEGER NOT NULL) WITHOUT ROWID;
-- Files and folders that were removed, and stay out until somebody adds them by name.
CREATE TABLE excluded (path TEXT PRIMARY KEY) WITHOUT ROWID;
"""

# A log of yes and no that can be learnt again from the beginning, entry by entry, and what it has
# taught so far. Whoever changes the log, even by forgetting a picture, leaves a mark that goes only
# when the index shows what the log says.
_CLICKS = """
CREATE TABLE clicks (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    query TEXT NOT NULL,                    -- its words, without conditions
    picture INTEGER NOT NULL REFERENCES pictures ON DELETE CASCADE,
    answer INTEGER NOT NULL CHECK (answer IN (0, 1)),
    time REAL NOT NULL,
    against TEXT NOT NULL DEFAULT '[]',     -- JSON: pictures that it was compared with
    step REAL NOT NULL DEFAULT 1,           -- how much of the step was taken
    UNIQUE (query, picture)
);
INSERT INTO clicks (query, picture, answer, time)
    SELECT query, picture, answer, time FROM feedback ORDER BY time;
DROP TABLE feedback;
ALTER TABLE clicks RENAME TO feedback;
CREATE TABLE taught (
    word INTEGER PRIMARY KEY,               -- of the current version
    place INTEGER NOT NULL UNIQUE,          -- its column in the index, counted after all words
    direction BLOB NOT NULL                 -- float64: what is added to the word's weights
);
INSERT INTO settings SELECT 'clicks', 'untold' WHERE EXISTS (SELECT 1 FROM feedback);
CREATE TRIGGER click_added AFTER INSERT ON feedback BEGIN
    INSERT OR REPLACE INTO settings VALUES ('clicks', 'untold');
END;
CREATE TRIGGER click_gone AFTER DELETE ON feedback BEGIN
    INSERT OR REPLACE INTO settings VALUES ('clicks', 'untold');
END;
"""

# Versions for each text space, and how often captions have changed, so that whoever was trained on
# them knows how much it has not seen.
_SPACES = """
ALTER TABLE versions ADD COLUMN space TEXT NOT NULL DEFAULT 'words';
ALTER TABLE versions ADD COLUMN caption_changes INTEGER NOT NULL DEFAULT 0;
INSERT INTO settings VALUES ('caption_changes', '0');
CREATE TRIGGER caption_given AFTER INSERT ON captions BEGIN
    UPDATE settings SET value = value + 1 WHERE name = 'caption_changes';
END;
CREATE TRIGGER caption_changed AFTER UPDATE ON captions BEGIN
    UPDATE settings SET value = value + 1 WHERE name = 'caption_changes';
END;
CREATE TRIGGER caption_gone AFTER DELETE ON captions BEGIN
    UPDATE settings SET value = value + 1 WHERE name = 'caption_changes';
END;
"""

# Pictures that are no files of the collection's folder: the folder of such a place is a URL, or a
# shard, or both.
_SOURCES = """
CREATE TABLE sources (
    location TEXT PRIMARY KEY,              -- a prefix, shard or table: a URL, or below the folder
    named INTEGER NOT NULL,                 -- whether somebody named it, or it was found in one
    stamp INTEGER NOT NULL                  -- what it was like when it was listed; -1 before that
) WITHOUT ROWID;
ALTER TABLE places ADD COLUMN offset INTEGER;    -- where its bytes begin in its shard
ALTER TABLE places ADD COLUMN listed TEXT;       -- the table that lists it
ALTER TABLE places ADD COLUMN caption TEXT;      -- what that says of it
"""

# When and where pictures were taken, and what kind of file they are: by file, as names, times of
# change and sidecars differ, and by picture what the most trustworthy of its files says. How often
# files have changed is counted, so that whoever keeps an answer knows when it is old.
_BEST = """
    UPDATE pictures SET (kind, taken, taken_from, latitude, longitude) = (
        SELECT kind, taken, taken_from, latitude, longitude FROM places
        WHERE picture = pictures.id AND NOT vanished
        ORDER BY taken IS NULL, instr('exif xmp name file', taken_from), taken, id LIMIT 1)
    WHERE id IN ({0});
    UPDATE settings SET value = value + 1 WHERE name = 'place_changes';
"""
_CAPTURES = (
    "".join(
        f"""
ALTER TABLE {table} ADD COLUMN kind TEXT;           -- NULL for a picture, raw or video
ALTER TABLE {table} ADD COLUMN taken INTEGER;       -- seconds since 1970 by the camera's clock
ALTER TABLE {table} ADD COLUMN taken_from TEXT;     -- exif, xmp, name, file or ''; NULL: not read
ALTER TABLE {table} ADD COLUMN latitude REAL;
ALTER TABLE {table} ADD COLUMN longitude REAL;"""
        for table in ("places", "pictures")
    )
    + f"""
CREATE INDEX pictures_by_time ON pictures (taken, present);
CREATE INDEX pictures_by_position ON pictures (latitude, longitude, present)
    WHERE latitude IS NOT NULL;
CREATE INDEX pictures_by_kind ON pictures (kind) WHERE kind IS NOT NULL;
INSERT INTO settings VALUES ('place_changes', '0');
CREATE TRIGGER capture_comes AFTER INSERT ON places BEGIN {_BEST.format("new.picture")} END;
CREATE TRIGGER capture_goes AFTER DELETE ON places BEGIN {_BEST.format("old.picture")} END;
CREATE TRIGGER capture_changes AFTER UPDATE OF
    folder, name, picture, vanished, kind, taken, taken_from, latitude, longitude ON places
BEGIN {_BEST.format("old.picture, new.picture")} END;
"""
)

# What people said while somebody else was writing, in the order in which they said it.
_QUEUE = """
CREATE TABLE queue (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    change TEXT NOT NULL                    -- JSON: the name of a verb, and its values by name
);
-- How things were before a step that concerned many pictures, so that it is taken back as one.
CREATE TABLE steps (id INTEGER PRIMARY KEY AUTOINCREMENT, before TEXT NOT NULL);
"""

# Further frames of videos, which have rows but no files: they are there for as long as their video
# is, and the index hears of them when it hears of it.
_VIDEOS = """
ALTER TABLE pictures ADD COLUMN video INTEGER REFERENCES pictures ON DELETE CASCADE;
ALTER TABLE pictures ADD COLUMN second REAL;        -- when the frame is shown; NULL for a picture
CREATE INDEX pictures_by_video ON pictures (video) WHERE video IS NOT NULL;
CREATE TRIGGER video_pending AFTER INSERT ON pending BEGIN
    INSERT INTO pending SELECT id FROM pictures
        WHERE video = new.picture AND id NOT IN (SELECT picture FROM pending);
END;
"""

STEPS = (
    _PICTURES + _ROWS + _PENDING,
    _FOLDERS,
    _CLICKS,
    _SPACES,
    CAPTION_WORDS,
    _SOURCES,
    _CAPTURES + _QUEUE,
    NAMES,
    _VIDEOS,
)
NEWEST = len(STEPS)


def version_of(db: sqlite3.Connection) -> int:
    """The version of a catalogue's tables; 0 for a new one."""
    return int(db.execute("PRAGMA user_version").fetchone()[0])


def check_version(db: sqlite3.Connection, where: str) -> None:
    """Refuse a catalogue from the future, which this program would misread."""
    found = version_of(db)
    if found > NEWEST:
        raise VistermError(
            f"{where} was written by a newer visterm (its tables have version {found}, this one "
            f"knows {NEWEST}); upgrade visterm to read it"
        )


def migrate(db: sqlite3.Connection) -> None:
    """Bring the tables to the newest version, one step a transaction."""
    for number in range(version_of(db), NEWEST):
        db.executescript(
            f"BEGIN IMMEDIATE;{STEPS[number]}PRAGMA user_version = {number + 1};COMMIT;"
        )
