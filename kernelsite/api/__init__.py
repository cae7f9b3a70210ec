"""`/api/v1/`: what pages show and do, for programs with a token. Cookies are not looked at."""
