"""A stand-in for Ollama: its whole API, with constant answers and faults on demand.

It is for tests, demonstrations and people without a model, and needs no Django and no database. Start it with ``python
-m standin --port 11434`` or ``manage.py standin_ollama --port 11434``.

``app`` routes a request to the module of its format; ``completion`` answers every prompt, by the model's entry in
``behaviours``, in the ``speech.Shape`` of that format.
"""
