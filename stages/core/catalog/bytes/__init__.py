"""From bytes to typed text: samples, encodings, cells and the types of columns."""
