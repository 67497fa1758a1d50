"""What the agent programs' hooks say and understand, one file a program. Pure: payloads in, answers out.

Each program has its own names for the same few moments, and its own shapes for an answer; nobody else knows them.
"""
