"""Template tags of the console."""

from django import template

register = template.Library()
