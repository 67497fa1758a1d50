"""Speaking with agents over their programs' protocols: what they tell, what they ask, what they are told."""
