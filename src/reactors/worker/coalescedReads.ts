import { InFlightMap } from "../../kernel/shortLivedCollections.ts";

interface Slot<Value> {
  readonly startedAt: number;
  readonly running: Promise<Value>;
  next: Promise<Value> | null;
}

/**
 * Shares reads that must be fresh: a caller gets a value whose read began after its call. Callers that come while a
 * read is in flight, or within `spacingMs` of its start, share the next one. So a burst for one id costs two reads,
 * and a steady stream one every `spacingMs`.
 */
export function coalescedReads<Value>(
  read: (id: string) => Promise<Value>,
  spacingMs: number,
): (id: string) => Promise<Value> {
  const slots = new InFlightMap<Slot<Value>>();

  const spacing = async ({ running, startedAt }: Slot<Value>): Promise<void> => {
    await running.catch(() => {});
    const restMs = startedAt + spacingMs - performance.now();
    if (spacingMs > 0 && restMs > 0) await Bun.sleep(restMs);
  };

  const start = (id: string): Promise<Value> => {
    const slot: Slot<Value> = { startedAt: performance.now(), running: read(id), next: null };
    slots.set(id, slot);
    void spacing(slot).then(() => {
      if (slots.get(id) === slot && slot.next === null) slots.delete(id);
    });
    return slot.running;
  };

  return (id) => {
    const slot = slots.get(id);
    if (!slot) return start(id);
    slot.next ??= spacing(slot).then(() => start(id));
    return slot.next;
  };
}
