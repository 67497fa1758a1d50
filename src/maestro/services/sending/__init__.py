"""Send mail. A message may become deliveries, an issue, a comment on an issue, an ask, or the answer to an ask."""
