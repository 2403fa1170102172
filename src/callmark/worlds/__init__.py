"""Built-in worlds: domains with tools, data, a policy and users, for demos, tests and synthesis.

A world uses only the public names of `callmark`, as one of your own would. callmark never imports a world: the registry finds it by name,
and its data files are read as package resources.
"""
