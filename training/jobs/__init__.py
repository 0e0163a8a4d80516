"""Trainings that the workbench starts, follows, resumes and ends."""
