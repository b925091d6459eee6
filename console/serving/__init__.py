"""The server itself: Daphne, the threads behind it, and what it is spared."""
