/** The actors of events: those with an id. The log stores these texts. */
const KEY = "api-key:";
const WORKER = "worker:";

/** The actor of what a caller does with an API key. */
export function keyActor(keyId: string): string {
  return KEY + keyId;
}

/** The id of the API key that acted; null if none did. */
export function keyIdOf(actor: string): string | null {
  return actor.startsWith(KEY) ? actor.slice(KEY.length) : null;
}

export function workerActor(worker: string): string {
  return WORKER + worker;
}

export function isWorker(actor: string): boolean {
  return actor.startsWith(WORKER);
}
