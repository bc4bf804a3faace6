"""One grade per topic and document."""
