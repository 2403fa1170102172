"""Drop-in interfaces of DeepFabric, the Foundry grader and the LOB evaluation."""
