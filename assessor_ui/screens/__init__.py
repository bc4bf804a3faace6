"""What is shown over the whole terminal."""
