"""Formats for Django: https://docs.djangoproject.com/en/5.2/topics/i18n/formatting/#creating-custom-format-files"""

DATE_FORMAT = SHORT_DATE_FORMAT = "Y-m-d"
TIME_FORMAT = "H:i"
DATETIME_FORMAT = SHORT_DATETIME_FORMAT = "Y-m-d H:i"
