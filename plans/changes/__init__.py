"""What a plan, a subtask, a turn or an undo changed in its folder, and what is left of it."""
