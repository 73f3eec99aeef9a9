/**
 * Shares reads that must be fresh: whoever asks gets a value whose read began after the call. Callers that ask
 * while a read is under way share the next one, so a burst for one id costs two reads, not one each.
 */
export function freshReads<Value>(read: (id: string) => Promise<Value>): (id: string) => Promise<Value> {
  const slots = new Map<string, { running: Promise<Value>; next: Promise<Value> | null }>();

  const start = (id: string): Promise<Value> => {
    const running = read(id);
    const slot = { running, next: null };
    slots.set(id, slot);
    const finish = () => {
      if (slots.get(id) === slot && slot.next === null) slots.delete(id);
    };
    running.then(finish, finish);
    return running;
  };

  return (id) => {
    const slot = slots.get(id);
    if (!slot) return start(id);
    slot.next ??= slot.running.then(
      () => start(id),
      () => start(id),
    );
    return slot.next;
  };
}
