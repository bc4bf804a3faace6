"""Who judges what next, and how far assessors agree."""
