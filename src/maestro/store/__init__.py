"""The only place that knows SQL or a driver."""
