"""Sessions as records: lifecycle, status, presence, relations. Their programs are in `supervision/`."""
