"""Mail: stored messages between agents and the person, with a receipt for every proven step of a delivery."""
