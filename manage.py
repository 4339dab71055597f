#!/usr/bin/env python
"""Django's command line, for Festinger."""

import sys

from festinger_site.run.manage import main

if __name__ == "__main__":
    main(sys.argv)
