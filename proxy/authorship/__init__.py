"""Whose words a request is made of: which programs write on their own account, and who says what in the others. What
follows goes by this alone."""
