"""The tables and figures of the papers, each beside ours."""
