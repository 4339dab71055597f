"""Decides whose words a request is made of: which prompts programs write on their own account, and who says what in the
others. All later steps rely on this alone."""
