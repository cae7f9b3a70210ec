"""Addresses of log-in, log-out, forgotten passwords, and of links that were mailed."""

from __future__ import annotations

from django.urls import path

from kernelsite.accounts.invited import accept
from kernelsite.accounts.passwords import ResetView, address, forgotten
from kernelsite.accounts.views import LoginView, LogoutView

app_name = "accounts"

urlpatterns = [
    path("login/", LoginView.as_view(), name="login"),
    # By POST only, with the form's token.
    path("logout/", LogoutView.as_view(), name="logout"),
    path("forgotten/", forgotten, name="forgotten"),
    path("reset/<uidb64>/<token>/", ResetView.as_view(), name="reset_confirm"),
    path("address/<str:token>/", address, name="address"),
    path("invitations/<str:token>/", accept, name="accept"),
]
