"""One module per report: facts become the sections of a page."""
