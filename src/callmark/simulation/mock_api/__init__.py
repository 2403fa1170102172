"""An API that is known by its OpenAPI file alone, made up so that it can be called: things of the kinds that its answers show, with values
that look plausible, the same whenever they are asked for. What a conversation makes, changes or deletes stays so for as long as it lasts.
"""
