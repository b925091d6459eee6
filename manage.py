#!/usr/bin/env python3
"""Planside's command line."""

from console.management import main

if __name__ == "__main__":
    main()
