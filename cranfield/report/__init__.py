"""Facts arranged into something to read, and the renderers that put it on a surface."""
