"""Sessions as records: their lifecycle, status, presence and relations. Programs of sessions are in `programs/`."""
