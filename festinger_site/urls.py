"""The paths that Festinger itself answers; everything else goes to the upstream (festinger_site/asgi.py)."""

from django.contrib import admin
from django.urls import path, re_path
from django.views.generic import RedirectView, TemplateView

from proxy.api.routes import api

handler404 = "festinger_site.serve.error_views.not_found"
handler500 = "festinger_site.serve.error_views.server_error"

admin.autodiscover()

add_slash = RedirectView.as_view(url="/%(page)s/", query_string=True)

urlpatterns = [
    path("", TemplateView.as_view(template_name="welcome.html")),
    # Only here, and not by APPEND_SLASH: other paths reach the upstream as they are.
    re_path("^(?P<page>admin(?:/.*[^/])?)$", admin.site.admin_view(add_slash)),
    path("admin/", admin.site.urls),
    path("", api.urls),
]
