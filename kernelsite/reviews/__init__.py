"""Reviews: a gate between the stages of a search, approval of results, and the releases that come of it."""
