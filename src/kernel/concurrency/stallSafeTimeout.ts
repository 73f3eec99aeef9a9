/**
 * Calls `late` after `ms`, unless the function that it returns is called first. Input that has arrived by then is read
 * before: see {@link afterArrivedInput}.
 */
export function startTimeout(ms: number, late: () => void): () => void {
  let isStopped = false;
  const timer = setTimeout(() => afterArrivedInput(() => !isStopped && late()), ms);
  return () => {
    isStopped = true;
    clearTimeout(timer);
  };
}

/**
 * Calls `then` once the event loop has read its sockets. It runs timers first. So after a stall (a stopped process, a
 * paused machine, a busy thread) a timer that gave up an answer at once would lose one that is already here, and what
 * had this answer would be sent again. The second turn is for a timer that fires between the sockets and the end of a
 * turn.
 */
export function afterArrivedInput(then: () => void): void {
  setImmediate(() => setImmediate(then));
}
