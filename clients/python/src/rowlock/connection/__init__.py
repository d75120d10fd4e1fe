"""The way to a server: commands in, results out. Knows nothing of what they mean."""
