"""A mock of the API that an OpenAPI file describes: resources of the kinds that its responses show, with plausible values that depend on a
seed alone. What a conversation creates, changes or deletes lasts as long as the conversation.
"""
