"""The protocol's messages and stubs, which scripts/generate makes from proto/."""
