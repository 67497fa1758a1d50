"""The hook dialects of the agent programs, a file per program. Pure: payloads in, answers out.

Each program has its own names for the same few moments, and its own formats of answers. No other package knows them.
"""
