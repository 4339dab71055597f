"""Tests of what the encoder is trained on."""
