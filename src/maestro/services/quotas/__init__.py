"""Count and limit what sessions create, by session, family and project."""
