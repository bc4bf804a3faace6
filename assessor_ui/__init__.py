"""The terminal interface in which assessors judge."""
