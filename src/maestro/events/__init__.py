"""Delivery of events: a hub that wakes listeners, and a feed that replays the log and then follows it. No writes."""
