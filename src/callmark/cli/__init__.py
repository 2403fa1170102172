"""The command line: one file a command. Arguments in, one call, a result shown."""
