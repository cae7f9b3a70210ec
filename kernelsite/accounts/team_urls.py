"""Addresses of a person and a team: profile, people, tokens, activity."""

from __future__ import annotations

from django.urls import path

from kernelsite.accounts import activity, people, profile, tokens

app_name = "team"

urlpatterns = [
    path("settings/profile/", profile.profile, name="profile"),
    path("settings/profile/address", profile.email, name="email"),
    path("settings/profile/password", profile.password, name="password"),
    path("settings/profile/sessions", profile.end_sessions, name="end_sessions"),
    path("settings/team/", people.team, name="team"),
    path("settings/team/invite", people.invite, name="invite"),
    path("settings/team/invitations/<int:invitation_id>/revoke", people.revoke, name="revoke_invitation"),
    path("settings/team/members/<int:member_id>", people.change, name="change"),
    path("settings/team/switch", people.switch, name="switch"),
    path("settings/tokens/", tokens.tokens, name="tokens"),
    path("settings/tokens/new", tokens.new, name="new_token"),
    path("settings/tokens/<int:token_id>/revoke", tokens.revoke, name="revoke_token"),
    path("activity/", activity.activity, name="activity"),
    path("activity.csv", activity.activity_csv, name="activity_csv"),
]
