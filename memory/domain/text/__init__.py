"""Texts: what in a message is a token, what is prose, and what must not be kept.

``agent_envelopes`` takes a message out of the JSON that an agent wraps it in. ``unicode`` brings it into NFKC with a
way back to the source, and ``tokenizer`` makes tokens of it, less what ``noise`` says is no word; ``function_words``
tells grammar from names. ``sentences`` hides code, JSON and addresses and finds sentences in the rest. ``snippets``
cuts out the sentences that are kept as evidence, and ``portions`` cuts what is long, so that others may run in between.
"""
