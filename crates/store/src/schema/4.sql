-- Version 4: where a run may be continued.

-- The digest of the machine on which this store began the run; NULL for imported
-- runs, and for runs of earlier versions, which did not keep it.
ALTER TABLE run ADD COLUMN machine TEXT;
