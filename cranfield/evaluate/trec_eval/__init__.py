"""trec_eval's behaviour, byte for byte: its options, its reading, its measures, its printing and its exit status."""
