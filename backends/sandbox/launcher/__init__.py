"""The zygote: a small process of its own that makes sandboxes from Linux namespaces. Standard library only."""
