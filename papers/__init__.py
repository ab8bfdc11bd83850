"""Tables of five papers and two leaderboards as entries, and the code of pages and figures."""
