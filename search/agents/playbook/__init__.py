"""Shipped agents that need no model."""
