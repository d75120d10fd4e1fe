"""The engine: keeps the locks of a client, on its own thread."""
