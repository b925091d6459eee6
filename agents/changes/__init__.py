"""What a folder held at a moment, kept so that changes can be read and taken back.

A recording is a tree of git objects in a store of our own, under the home and never in the folder:
no `.git` is read but for what is to be ignored, and none is written.
"""
