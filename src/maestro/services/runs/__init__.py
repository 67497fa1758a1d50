"""Start, show, stop and resume runs. A background job (`dispatch`) decides the next step of a run."""
