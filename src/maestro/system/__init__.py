"""Access to the operating system: processes, shell commands, small files, memory and file modes."""
