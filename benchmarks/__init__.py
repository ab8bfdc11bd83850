"""One file a question; each prints ratios against a peer or limit measured in the same run."""
