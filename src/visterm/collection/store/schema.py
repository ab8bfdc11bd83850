"""The tables of a catalogue.

Version 0.2 was never released, so its catalogues are not converted: a backup made by it is read.
"""

from __future__ import annotations

import sqlite3

from visterm.errors import VistermError

VERSION = 23
"""Of the tables below; those of 0.2 had up to 9."""

_PICTURES = """
-- A picture is its content: every file with the same bytes is the same picture. How many files of
-- it there are now, and what the most trustworthy of them says of its time, place and kind, is kept
-- up by triggers, so that no code can forget to. Further frames of a video have rows but no files.
CREATE TABLE pictures (
    id INTEGER PRIMARY KEY AUTOINCREMENT,   -- never used twice: rows know pictures by it
    hash BLOB NOT NULL UNIQUE,              -- SHA-256 of the file
    present INTEGER NOT NULL DEFAULT 0,
    kind TEXT,                              -- NULL for a picture, raw or video
    taken INTEGER,                          -- seconds since 1970 by the camera's clock
    taken_from TEXT,                        -- exif, xmp, name, file or ''; NULL: not read
    latitude REAL,
    longitude REAL,
    camera TEXT,
    lens TEXT,
    rating INTEGER,                         -- stars, or -1: rejected
    width INTEGER,                          -- of the upright picture, so that whoever lays out a
    height INTEGER,                         -- page opens no file
    ocr TEXT,                               -- text that is read in it; NULL: not looked for
    video INTEGER REFERENCES pictures ON DELETE CASCADE,
    second REAL                             -- when the frame is shown; NULL for a picture
);
CREATE INDEX pictures_by_time ON pictures (taken, present, taken_from);
CREATE INDEX pictures_by_position ON pictures (latitude, longitude, present)
    WHERE latitude IS NOT NULL;
CREATE INDEX pictures_by_kind ON pictures (kind) WHERE kind IS NOT NULL;
CREATE INDEX pictures_by_video ON pictures (video) WHERE video IS NOT NULL;
CREATE INDEX pictures_absent ON pictures (id) WHERE present <= 0;
CREATE TABLE places (
    id INTEGER PRIMARY KEY,
    folder TEXT NOT NULL,                   -- below the collection's, or a URL or shard
    name TEXT NOT NULL,
    picture INTEGER NOT NULL REFERENCES pictures ON DELETE CASCADE,
    size INTEGER NOT NULL,
    mtime_ns INTEGER NOT NULL,
    sidecars TEXT NOT NULL,                 -- what lay beside it when its captions were read
    vanished INTEGER NOT NULL DEFAULT 0,    -- 1: its file has gone; < 0: removed by an event
    offset INTEGER,                         -- where its bytes begin in its shard
    listed TEXT,                            -- the table that lists it
    caption TEXT,                           -- what that says of it
    kind TEXT,
    taken INTEGER,
    taken_from TEXT,
    latitude REAL,
    longitude REAL,
    camera TEXT,
    lens TEXT,
    rating INTEGER,
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
-- When each folder was last listed, so that a search sees new pictures without listing them all.
CREATE TABLE folders (folder TEXT PRIMARY KEY, mtime_ns INTEGER NOT NULL) WITHOUT ROWID;
-- Files and folders that were removed, and stay out until somebody adds them by name.
CREATE TABLE excluded (path TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE sources (
    location TEXT PRIMARY KEY,              -- a prefix, shard or table: a URL, or below the folder
    named INTEGER NOT NULL,                 -- whether somebody named it, or it was found in one
    stamp INTEGER NOT NULL                  -- what it was like when it was listed; -1 before that
) WITHOUT ROWID;
CREATE TABLE settings (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
-- Counters of changes: who keeps something made from a table knows by them when it is old.
INSERT INTO settings VALUES ('place_changes', '0'), ('caption_changes', '0'),
    ('caption_words', '0'), ('click_changes', '0');
"""

_BEST = """
    UPDATE pictures SET (kind, taken, taken_from, latitude, longitude, camera, lens, rating) = (
        SELECT kind, taken, taken_from, latitude, longitude, camera, lens, rating FROM places
        WHERE picture = pictures.id AND NOT vanished
        ORDER BY taken IS NULL, instr('exif xmp name file', taken_from), taken, id LIMIT 1)
    WHERE id IN ({0});
    UPDATE settings SET value = value + 1 WHERE name = 'place_changes';
"""
_FILES = f"""
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
CREATE TRIGGER capture_comes AFTER INSERT ON places BEGIN {_BEST.format("new.picture")} END;
CREATE TRIGGER capture_goes AFTER DELETE ON places BEGIN {_BEST.format("old.picture")} END;
CREATE TRIGGER capture_changes AFTER UPDATE OF
    folder, name, picture, vanished, kind, taken, taken_from, latitude, longitude, camera, lens,
    rating ON places
BEGIN {_BEST.format("old.picture, new.picture")} END;
"""

_ROWS = """
CREATE TABLE extractors (
    key TEXT PRIMARY KEY,                   -- name and version, as in cnn-1
    file TEXT NOT NULL,
    sha256 TEXT NOT NULL
) WITHOUT ROWID;
-- The file of an extractor's rows (visterm.index.feature_file), and how many of them count.
CREATE TABLE feature_files (
    extractor TEXT PRIMARY KEY,
    generation INTEGER NOT NULL,            -- the name of its folder
    layout TEXT NOT NULL,
    width INTEGER NOT NULL,
    count INTEGER NOT NULL
) WITHOUT ROWID;
-- Rows that were appended together.
CREATE TABLE segments (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    extractor TEXT NOT NULL,
    first INTEGER NOT NULL,
    rows INTEGER NOT NULL,
    files TEXT NOT NULL                     -- JSON: name to SHA-256 of their bytes
);
CREATE TABLE rows (
    extractor TEXT NOT NULL,
    picture INTEGER NOT NULL REFERENCES pictures ON DELETE CASCADE,
    position INTEGER NOT NULL,
    PRIMARY KEY (extractor, picture)
) WITHOUT ROWID;
CREATE TABLE dead_rows (
    extractor TEXT NOT NULL,
    position INTEGER NOT NULL,
    PRIMARY KEY (extractor, position)
) WITHOUT ROWID;
CREATE TRIGGER row_gone AFTER DELETE ON rows BEGIN
    INSERT INTO dead_rows VALUES (old.extractor, old.position);
END;
CREATE TABLE versions (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    space TEXT NOT NULL,
    model TEXT NOT NULL,
    extractor TEXT NOT NULL,
    words INTEGER NOT NULL,
    captioned INTEGER NOT NULL,
    avgp REAL,
    time REAL NOT NULL,
    files TEXT NOT NULL,                    -- JSON: name to SHA-256
    caption_changes INTEGER NOT NULL
);
"""

# A log of yes and no that can be learnt again from the beginning, entry by entry, and what it has
# taught so far. Whoever changes the log, even by forgetting a picture, leaves a mark that goes when
# the directions are what the log says.
_CLICKS = """
CREATE TABLE feedback (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    query TEXT NOT NULL,                    -- its words, without conditions
    picture INTEGER NOT NULL REFERENCES pictures ON DELETE CASCADE,
    answer INTEGER NOT NULL CHECK (answer IN (0, 1)),
    time REAL NOT NULL,
    step REAL NOT NULL DEFAULT 1,           -- how much it counts
    UNIQUE (query, picture)
);
-- Those that count: of pictures that were removed, what was said waits until they come back.
CREATE VIEW clicks AS SELECT * FROM feedback WHERE NOT EXISTS (
    SELECT 1 FROM places JOIN pictures ON pictures.id = places.picture
    WHERE places.picture = feedback.picture AND vanished < 0 AND present <= 0);
CREATE TABLE directions (
    word INTEGER PRIMARY KEY,               -- of the current version
    direction BLOB NOT NULL                 -- float64: what is added to the word's weights
);
""" + "".join(
    f"""
CREATE TRIGGER click_{what.lower()} AFTER {what} ON feedback BEGIN
    UPDATE settings SET value = value + 1 WHERE name = 'click_changes';
    INSERT OR REPLACE INTO settings VALUES ('clicks', 'unlearnt');
END;
CREATE TRIGGER direction_{what.lower()} AFTER {what} ON directions BEGIN
    UPDATE settings SET value = value + 1 WHERE name = 'click_changes';
END;"""
    for what in ("INSERT", "DELETE")
)

# Every change that people make, in the order in which they said it; its unapplied end is the queue.
_EVENTS = """
CREATE TABLE events (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    change TEXT NOT NULL,                   -- JSON: the name of a verb, and its values by name
    state TEXT NOT NULL DEFAULT 'waiting',  -- then done, undone or refused
    before TEXT,                            -- JSON: how things were; NULL: nothing to take back
    reason TEXT                             -- why it was refused
);
CREATE INDEX events_by_state ON events (state, id);
"""

# Captions, and the words that are written of pictures (`store/caption_words.py`), kept up at the
# end of every transaction that has changed what is written of a picture: triggers note it.
WRITTEN = """CREATE VIRTUAL TABLE written USING fts5(
    caption, file, folder, text, columnsize = 0, tokenize = "ascii tokenchars '-_'''"
)"""
_COUNTS = "EXISTS (SELECT 1 FROM settings WHERE name = 'names')"
_NOTE = "INSERT OR IGNORE INTO changed_captions SELECT id FROM pictures WHERE id IN ({0});"
_EVERYBODY = "INSERT OR IGNORE INTO changed_captions SELECT id FROM pictures;"
_CAPTIONS = f"""
CREATE TABLE captions (
    picture INTEGER NOT NULL REFERENCES pictures ON DELETE CASCADE,
    source TEXT NOT NULL,
    text TEXT NOT NULL,
    PRIMARY KEY (picture, source)
) WITHOUT ROWID;
{WRITTEN};
CREATE TABLE caption_lengths (
    chunk INTEGER PRIMARY KEY,              -- of pictures: their numbers shifted right by 16 bits
    lengths BLOB NOT NULL                   -- a byte a picture: how many words its caption has
);
CREATE VIEW said (picture, captions, names, ocr) AS SELECT id,
    (SELECT json_group_array(json_array(source, text)) FROM captions WHERE picture = pictures.id),
    (SELECT json_group_array(json_array(
        CASE value WHEN 'files' THEN '' ELSE folder END,
        CASE value WHEN 'folders' THEN '' ELSE places.name END))
        FROM places JOIN settings ON settings.name = 'names'
        WHERE picture = pictures.id AND NOT vanished), ocr
    FROM pictures;
CREATE TABLE changed_captions (picture INTEGER PRIMARY KEY);
CREATE TRIGGER caption_comes BEFORE INSERT ON captions BEGIN
    {_NOTE.format("new.picture")}
    UPDATE settings SET value = value + 1 WHERE name = 'caption_changes';
END;
CREATE TRIGGER caption_changes BEFORE UPDATE ON captions BEGIN
    {_NOTE.format("old.picture")}
    UPDATE settings SET value = value + 1 WHERE name = 'caption_changes';
END;
CREATE TRIGGER caption_goes BEFORE DELETE ON captions BEGIN
    {_NOTE.format("old.picture")}
    UPDATE settings SET value = value + 1 WHERE name = 'caption_changes';
END;
CREATE TRIGGER text_changes BEFORE UPDATE OF ocr ON pictures BEGIN
    {_NOTE.format("old.id")}
END;
CREATE TRIGGER picture_goes BEFORE DELETE ON pictures BEGIN {_NOTE.format("old.id")} END;
CREATE TRIGGER name_comes BEFORE INSERT ON places WHEN {_COUNTS} BEGIN
    {_NOTE.format("new.picture")}
END;
CREATE TRIGGER name_changes BEFORE UPDATE OF folder, name, picture, vanished ON places
WHEN {_COUNTS} BEGIN
    {_NOTE.format("old.picture, new.picture")}
END;
CREATE TRIGGER name_goes BEFORE DELETE ON places WHEN {_COUNTS} BEGIN
    {_NOTE.format("old.picture")}
END;
CREATE TRIGGER names_begin BEFORE INSERT ON settings WHEN new.name = 'names'
    AND NOT EXISTS (SELECT 1 FROM settings WHERE name = 'names' AND value = new.value) BEGIN
    {_EVERYBODY}
END;
CREATE TRIGGER names_end BEFORE DELETE ON settings WHEN old.name = 'names' BEGIN
    {_EVERYBODY}
END;
"""

# What programs keep with a picture, under names of their own.
_FIELDS = """
CREATE TABLE fields (
    picture INTEGER NOT NULL REFERENCES pictures ON DELETE CASCADE,
    name TEXT NOT NULL COLLATE NOCASE,
    json TEXT NOT NULL,                     -- a string, a number, true or false
    value AS (json_extract(json, '$')),     -- true is 1
    PRIMARY KEY (picture, name)
) WITHOUT ROWID;
CREATE INDEX fields_by_value ON fields (name, value);
INSERT INTO settings VALUES ('field_changes', '0');
""" + "".join(
    f"""
CREATE TRIGGER field_{what.lower()} AFTER {what} ON fields BEGIN
    UPDATE settings SET value = value + 1 WHERE name = 'field_changes';
END;"""
    for what in ("INSERT", "UPDATE", "DELETE")
)

TABLES = _PICTURES + _FILES + _ROWS + _CLICKS + _EVENTS + _CAPTIONS + _FIELDS


def version_of(db: sqlite3.Connection) -> int:
    """The version of a catalogue's tables; 0 for a new one."""
    return int(db.execute("PRAGMA user_version").fetchone()[0])


def check_version(db: sqlite3.Connection, where: str) -> None:
    """Refuse a catalogue of another version, which this program would misread."""
    found = version_of(db)
    if found > VERSION:
        raise VistermError(
            f"{where} was written by a newer visterm (its tables have version {found}, this one "
            f"knows {VERSION}); upgrade visterm to read it"
        )
    if 0 < found < VERSION:
        raise VistermError(
            f"{where} was written by visterm 0.2 or earlier, whose collections are not read; keep "
            "your captions and feedback with that visterm (visterm export), move the store away, "
            "and bring them back with visterm add and visterm import"
        )


def make_tables(db: sqlite3.Connection) -> None:
    """Make the tables of a new catalogue."""
    db.executescript(f"BEGIN IMMEDIATE;{TABLES}PRAGMA user_version = {VERSION};COMMIT;")
