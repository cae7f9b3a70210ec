"""Model endpoints of a team: where a language model answers, with which key, at what price."""
