"""`make demo-agents`: Claude Code coordinates, Codex and Gemini CLI work. The programs are real, the models are not.

The demo prints no expected results. Its lines come from the log, from the programs' requests to their model, and
from commands that were carried out.
"""
