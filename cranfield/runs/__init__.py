"""Rankings enter: read, checked, put into one order, kept as columns of integer codes."""
