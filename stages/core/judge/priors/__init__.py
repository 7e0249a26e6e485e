"""What is known beside the question: rules of the user, past SQL, the choice of a model."""
