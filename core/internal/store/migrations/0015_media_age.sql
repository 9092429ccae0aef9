-- Media of long ago are found by their age: nothing else is looked at while the others wait for the writer.
CREATE INDEX media_created ON media (created_at);
