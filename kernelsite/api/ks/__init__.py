"""`ks`: the API from a terminal, in the words of the pages."""
