"""A sentence encoder of the size of all-MiniLM-L6-v2: text -> word pieces -> a vector of 384 numbers of length 1."""
