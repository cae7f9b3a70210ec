"""Addresses of model endpoints."""

from __future__ import annotations

from django.urls import path

from kernelsite.endpoints import views

app_name = "endpoints"

urlpatterns = [
    path("", views.endpoints, name="list"),
    path("new/", views.new, name="new"),
    path("<int:endpoint_id>/", views.endpoint, name="endpoint"),
    path("<int:endpoint_id>/prices", views.add_price, name="add_price"),
    path("<int:endpoint_id>/prices/<int:price_id>/drop", views.drop_price, name="drop_price"),
    path("<int:endpoint_id>/<slug:action>", views.act, name="act"),
]
