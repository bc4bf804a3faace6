"""Judging: queues, sessions, packets, imports, agreement, adjudication."""
