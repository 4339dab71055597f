"""The typed Python client is what its generator writes of the endpoints' declarations."""

from scripts.make_client import CLIENT, write_client


def test_the_client_has_the_endpoints_as_they_are_declared() -> None:
    assert CLIENT.read_text() == write_client(), "python -m scripts.make_client"
