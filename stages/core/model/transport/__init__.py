"""How a call reaches a model: through litellm, or straight over the OpenAI protocol."""
