"""Texts: what in a message is a token, what is prose, and what must not be stored.

``agent_envelopes`` takes a message out of the JSON that an agent wraps it in. ``unicode`` converts it to NFKC with a
way back to the source, and ``tokenizer`` splits it into tokens, without those that ``noise`` rejects;
``function_words`` tells grammar from names. ``sentences`` masks code, JSON and addresses and finds sentences in the
rest. ``snippets`` cuts out the sentences that are kept as evidence."""
