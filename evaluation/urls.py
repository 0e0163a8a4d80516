"""Addresses of evaluation."""

from django.urls import path

from evaluation import views

urlpatterns = [path("my-study/", views.my_study, name="my-study")]
