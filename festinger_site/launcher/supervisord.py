"""supervisord, with logs that a full disk cannot stop: a line that finds no room is dropped."""

import os
from typing import Any

from supervisor import loggers, supervisord


class DroppingHandler(loggers.RotatingFileHandler):
    """Its original writes a traceback to standard error, and raises where a new file cannot be begun. Either ends
    supervisord, or what it reads from a program, which then waits for ever to say more."""

    stream: Any

    def emit(self, record: Any) -> None:
        try:
            if self.stream.closed:  # while the files were rotated
                self.stream = open(self.baseFilename, self.mode)  # noqa: SIM115  a log stays open
            super().emit(record)
        except (OSError, ValueError):
            self.handleError()

    def handleError(self) -> None:
        """The line is lost."""


if __name__ == "__main__":
    os.chdir(os.environ["FESTINGER_HOME"])  # its file names the folders of the home without their path
    loggers.RotatingFileHandler = DroppingHandler
    supervisord.main()
