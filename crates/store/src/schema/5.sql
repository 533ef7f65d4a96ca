-- Version 5: the command line that began a run.

-- As one line for a shell; NULL for runs of other programs, and for runs of earlier
-- versions, which did not keep it.
ALTER TABLE run ADD COLUMN command TEXT;
