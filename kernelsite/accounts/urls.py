"""Addresses of log-in, log-out and accepted invitations."""

from __future__ import annotations

from django.contrib.auth.views import LogoutView
from django.urls import path

from kernelsite.accounts.invited import accept
from kernelsite.accounts.views import LoginView

app_name = "accounts"

urlpatterns = [
    path("login/", LoginView.as_view(), name="login"),
    # By POST only, with the form's token.
    path("logout/", LogoutView.as_view(), name="logout"),
    path("invitations/<str:token>/", accept, name="accept"),
]
