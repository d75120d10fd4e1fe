"""The messages and stubs of the protocol, generated from proto/ by scripts/generate."""
