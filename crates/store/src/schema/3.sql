-- Version 3: runs that another program measured.

-- Which program, and what its files leave open, as JSON; NULL for runs of Tactus.
ALTER TABLE run ADD COLUMN origin TEXT;
