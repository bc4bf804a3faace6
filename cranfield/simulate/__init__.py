"""What would another pool have cost, and found? Plans replayed against known judgments, and what that foretells."""
