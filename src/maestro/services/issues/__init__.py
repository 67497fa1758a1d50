"""Issues: what one project asks of another, from its opening to its end."""
