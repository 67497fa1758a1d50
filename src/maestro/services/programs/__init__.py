"""Choose, start, prompt, stop and resume the programs of sessions."""
