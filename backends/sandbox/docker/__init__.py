"""Sandboxes that are containers of a Docker daemon on this machine."""
