"""A mock of the API in an OpenAPI file: resources of the kinds in its responses, with plausible values that depend only on a seed. Changes
last as long as the conversation.
"""
