"""One certificate authority in place of all that the operating system and certifi know."""

from collections.abc import Iterator

import certifi
import pytest

END = "-----END CERTIFICATE-----\n"


@pytest.fixture(scope="package", autouse=True)
def one_authority(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """All is plain HTTP here, but each client reads the list of certificate authorities, for some 30 ms of processor
    time. Imported by the conftest of folders whose tests make many clients."""
    one = tmp_path_factory.mktemp("tls") / "authority.pem"
    with open(certifi.where()) as all_of_them:
        one.write_text(all_of_them.read().partition(END)[0] + END)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(certifi, "where", lambda: str(one))
        yield
