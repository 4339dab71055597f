"""The errors of asking a language model.

    LlmError
        NoModel         none is chosen
        NoBudget        the day's calls are used up
        Busy            the model is the upstream's, and somebody uses it
        Misconfigured   the key, the address, the model's name, or the request
        Unavailable     away, too slow or too busy, even after retries
        Refused         it declines to answer
        Unreadable      its answer is cut, or not of the requested form

``str()`` is one line for people, and never holds a key.
"""


class LlmError(Exception):
    pass


class NoModel(LlmError):
    pass


class NoBudget(LlmError):
    pass


class Busy(LlmError):
    pass


class Misconfigured(LlmError):
    pass


class Unavailable(LlmError):
    pass


class Refused(LlmError):
    pass


class Unreadable(LlmError):
    pass


class HttpFailure(Exception):
    """One try failed, with an HTTP status or, if it is 0, without one. Not raised outside this package."""

    def __init__(self, status: int, message: str, headers: dict[str, str] | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.headers = headers or {}  # names in lower case

    @property
    def may_pass(self) -> bool:
        """True if the same request may succeed later: 529 is Anthropic's for overloaded."""
        if self.headers.get("x-should-retry") == "false" or "insufficient_quota" in self.message:
            return False
        return self.status in (0, 408, 409, 429) or self.status >= 500

    @property
    def retry_after_s(self) -> float | None:
        """The seconds that the server asks to wait; None if it does not say."""
        try:
            return max(0.0, float(self.headers.get("retry-after", "")))
        except ValueError:  # absent, or a date, which none of the three sends
            return None


def transport_failure(error: Exception) -> HttpFailure:
    """Make the failure of a try without an HTTP status. The SDKs keep the reason in the cause."""
    cause = error.__cause__ or error
    return HttpFailure(0, str(cause) or type(cause).__name__)


def no_answer(body: object) -> Unreadable:
    """Make the error for a good status with a body that this API does not send: a login page, another server's JSON."""
    return Unreadable(f"This is no answer of that API: {str(body)[:100]}")
