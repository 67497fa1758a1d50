"""Start, show, stop and resume runs. A background job (`upkeep/dispatching`) decides the next step of a run."""
