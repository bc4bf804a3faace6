"""What a screen is made of."""
