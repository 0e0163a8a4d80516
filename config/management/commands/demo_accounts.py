"""Makes one account for each role."""

from __future__ import annotations

import os
from typing import Any

from django.contrib.auth.models import Group, User
from django.core.management.base import BaseCommand, CommandError

from llm.access import Role


class Command(BaseCommand):
    help = "Makes the three roles and one demo account for each, with passwords from DEMO_PASSWORD_<ROLE>."

    def handle(self, *args: Any, **options: Any) -> None:
        for role in Role:
            variable = f"DEMO_PASSWORD_{role.name}"
            password = os.environ.get(variable)
            if not password:
                raise CommandError(f"set {variable}")
            group, _ = Group.objects.get_or_create(name=role)
            user, _ = User.objects.get_or_create(username=role.value)
            if not user.check_password(password):
                user.set_password(password)
                user.save()
            user.groups.set([group])
        self.stdout.write("demo accounts: " + ", ".join(Role))
