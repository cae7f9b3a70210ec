"""Commands of model endpoints."""
