"""Picture files as people keep them: safe decoding to upright RGB, and what is written of them."""
