"""What the performance claims are measured with, side by side with the peers."""
