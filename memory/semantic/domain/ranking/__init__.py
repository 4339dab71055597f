"""What of that which was found belongs to a question, and in which order."""
