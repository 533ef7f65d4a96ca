-- Version 6: whose fault a turn without a result is.

-- 1 if the host of a guest failed, and not what was measured; 0 for earlier versions, which did
-- not keep it.
ALTER TABLE failure ADD COLUMN by_host INTEGER NOT NULL DEFAULT 0;
