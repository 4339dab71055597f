"""The form that people log in with."""

from typing import Any

from django.core.exceptions import ValidationError
from unfold.forms import AuthenticationForm

from proxy import login_throttle
from proxy.login_throttle import Login, LoginRefused


class LoginForm(AuthenticationForm):
    """Refuses to check a password too soon after failed ones, or too many at once."""

    def clean(self) -> dict[str, Any]:
        name = self.cleaned_data.get("username")
        if not name or not self.cleaned_data.get("password"):
            return self._authenticate()  # reports what is missing
        login = Login(name, self.request.META["REMOTE_ADDR"])
        try:
            with login_throttle.hashing.enter():
                login.check()
                cleaned = self._authenticate()
        except LoginRefused as refused:
            raise ValidationError(str(refused), code="refused") from refused
        except ValidationError:
            login.note_failure()
            raise
        login.note_success()
        return cleaned

    def _authenticate(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean()
        return cleaned
