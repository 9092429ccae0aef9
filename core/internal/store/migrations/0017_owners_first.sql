-- Whose message is at the head of a lane, so that an owner's is claimed before others', and alone where only owners have a
-- place left. NULL: the lane is empty.
ALTER TABLE lanes ADD COLUMN owner BIGINT; -- 1: an owner's; 0: somebody else's
UPDATE lanes SET owner = (SELECT CASE WHEN i.share LIKE '3 %' THEN 1 ELSE 0 END
  FROM inbox i WHERE i.session = lanes.session AND i.lane = lanes.lane ORDER BY i.seq LIMIT 1);
DROP INDEX lanes_ready;
CREATE INDEX lanes_ready ON lanes (lane, owner, ready_at) WHERE ready_at IS NOT NULL;
