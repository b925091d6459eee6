// Requests that must not overtake each other.
const lines = new Map();

/** Run `task` when every earlier one of this line has ended; answers as the task does. */
export function inTurn(line, task) {
  const before = lines.get(line) ?? Promise.resolve();
  const now = before.then(task, task);
  lines.set(
    line,
    now.catch(() => {}),
  );
  return now;
}
