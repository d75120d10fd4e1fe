"""What keeps the locks of a client, on a thread of its own."""
