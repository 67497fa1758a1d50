"""`make demo-agents`: Claude Code coordinates, Codex and Gemini CLI work. The programs are real, their model is not.

Nothing here prints what should have happened: lines come from the log, from the programs' requests to their model, and
from commands that were carried out.
"""
