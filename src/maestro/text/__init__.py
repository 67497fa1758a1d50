"""Work on texts, without any input or output: parse within limits, hide tokens, show what a terminal showed."""
