"""The runner: a process that supervises one program, owns its processes and terminal, and outlives the server.

Each session has one detached runner. A runner knows no tool (tools/ does). Hundreds of runners may run at once: the
package must not import the server.
"""
