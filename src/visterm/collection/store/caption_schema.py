"""Steps of the catalogue's tables that list the words of captions and of names.

`store/caption_words.py` keeps the lists. As for all steps: one that has been released stays.
"""

from __future__ import annotations

# Which captions hold a word: `store/caption_words.py` keeps it, at the end of every transaction
# that has changed what is said of a picture. Triggers note those pictures, with what was said of
# them before, so that no code can forget to. (An OR IGNORE in a trigger gives way to the OR REPLACE
# of whoever fires it, so the conditions are written out.)
CAPTION_WORDS = """
CREATE TABLE caption_words (
    word TEXT NOT NULL,                     -- its stem; "" for every picture with a caption
    chunk INTEGER NOT NULL,                 -- of pictures: their numbers shifted right by 16 bits
    pictures BLOB NOT NULL,                 -- the lower 16 bits of their numbers, ascending
    PRIMARY KEY (word, chunk)
) WITHOUT ROWID;
INSERT INTO settings VALUES ('caption_words', '0');
CREATE VIEW said (picture, captions, folders) AS SELECT id,
    (SELECT json_group_array(json_array(source, text)) FROM captions WHERE picture = pictures.id),
    (SELECT json_group_array(folder) FROM places WHERE picture = pictures.id AND NOT vanished
        AND EXISTS (SELECT 1 FROM settings WHERE name = 'folders' AND value = 'yes'))
    FROM pictures;
CREATE TABLE changed_captions (
    picture INTEGER PRIMARY KEY,
    captions TEXT NOT NULL,                 -- JSON, as in the view, before the transaction
    folders TEXT NOT NULL
);
CREATE TRIGGER caption_comes BEFORE INSERT ON captions
WHEN NOT EXISTS (SELECT 1 FROM changed_captions WHERE picture = new.picture) BEGIN
    INSERT INTO changed_captions SELECT * FROM said WHERE picture = new.picture;
END;
CREATE TRIGGER caption_changes BEFORE UPDATE ON captions
WHEN NOT EXISTS (SELECT 1 FROM changed_captions WHERE picture = old.picture) BEGIN
    INSERT INTO changed_captions SELECT * FROM said WHERE picture = old.picture;
END;
CREATE TRIGGER caption_goes BEFORE DELETE ON captions
WHEN NOT EXISTS (SELECT 1 FROM changed_captions WHERE picture = old.picture) BEGIN
    INSERT INTO changed_captions SELECT * FROM said WHERE picture = old.picture;
END;
CREATE TRIGGER picture_goes BEFORE DELETE ON pictures
WHEN NOT EXISTS (SELECT 1 FROM changed_captions WHERE picture = old.id) BEGIN
    INSERT INTO changed_captions SELECT * FROM said WHERE picture = old.id;
END;
CREATE TRIGGER folder_comes BEFORE INSERT ON places
WHEN EXISTS (SELECT 1 FROM settings WHERE name = 'folders' AND value = 'yes') BEGIN
    INSERT INTO changed_captions SELECT * FROM said WHERE picture = new.picture
        AND picture NOT IN (SELECT picture FROM changed_captions);
END;
CREATE TRIGGER folder_changes BEFORE UPDATE OF folder, picture, vanished ON places
WHEN EXISTS (SELECT 1 FROM settings WHERE name = 'folders' AND value = 'yes') BEGIN
    INSERT INTO changed_captions SELECT * FROM said WHERE picture IN (old.picture, new.picture)
        AND picture NOT IN (SELECT picture FROM changed_captions);
END;
CREATE TRIGGER folder_goes BEFORE DELETE ON places
WHEN EXISTS (SELECT 1 FROM settings WHERE name = 'folders' AND value = 'yes') BEGIN
    INSERT INTO changed_captions SELECT * FROM said WHERE picture = old.picture
        AND picture NOT IN (SELECT picture FROM changed_captions);
END;
CREATE TRIGGER folders_begin BEFORE INSERT ON settings WHEN new.name = 'folders'
    AND NOT EXISTS (SELECT 1 FROM settings WHERE name = 'folders' AND value = new.value) BEGIN
    INSERT INTO changed_captions SELECT * FROM said
        WHERE picture NOT IN (SELECT picture FROM changed_captions);
END;
CREATE TRIGGER folders_end BEFORE DELETE ON settings WHEN old.name = 'folders' BEGIN
    INSERT INTO changed_captions SELECT * FROM said
        WHERE picture NOT IN (SELECT picture FROM changed_captions);
END;
INSERT INTO changed_captions SELECT DISTINCT picture, '[]', '[]' FROM captions;
INSERT INTO changed_captions SELECT picture, '[]', '[]' FROM said
    WHERE folders != '[]' AND picture NOT IN (SELECT picture FROM changed_captions);
"""

# Words of the names of files and folders, where their owner lets them count (the setting ``names``:
# files, folders or both): beside captions, and told apart from them. Names of folders that counted
# as captions are listed anew.
_COUNTS = "EXISTS (SELECT 1 FROM settings WHERE name = 'names')"
_NOTE = """INSERT INTO changed_captions SELECT * FROM said
        WHERE picture IN ({0}) AND picture NOT IN (SELECT picture FROM changed_captions);"""
_EVERYBODY = _NOTE.format("SELECT id FROM pictures")
NAMES = f"""
DROP TRIGGER folder_comes;
DROP TRIGGER folder_changes;
DROP TRIGGER folder_goes;
DROP TRIGGER folders_begin;
DROP TRIGGER folders_end;
INSERT INTO settings SELECT 'names', 'folders' FROM settings
    WHERE name = 'folders' AND value = 'yes';
DELETE FROM caption_words WHERE {_COUNTS};
DROP VIEW said;
CREATE VIEW said (picture, captions, names) AS SELECT id,
    (SELECT json_group_array(json_array(source, text)) FROM captions WHERE picture = pictures.id),
    (SELECT json_group_array(json_array(
        CASE value WHEN 'files' THEN '' ELSE folder END,
        CASE value WHEN 'folders' THEN '' ELSE places.name END))
        FROM places JOIN settings ON settings.name = 'names'
        WHERE picture = pictures.id AND NOT vanished)
    FROM pictures;
ALTER TABLE changed_captions RENAME COLUMN folders TO names;
INSERT INTO changed_captions SELECT id, '[]', '[]' FROM pictures
    WHERE {_COUNTS} AND id NOT IN (SELECT picture FROM changed_captions);
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
