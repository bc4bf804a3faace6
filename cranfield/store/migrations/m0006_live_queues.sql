-- A queue of settle is live: it keeps what it decides, and hands out what is needed after each judgment.

-- JSON: the contests that the queue is to decide; none where it stays as it was made.

ALTER TABLE queues ADD COLUMN contests TEXT NOT NULL DEFAULT '[]';
