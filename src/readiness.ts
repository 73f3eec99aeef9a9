import type { Services } from "./commands/services.ts";
import type { Config } from "./config.ts";
import type { Check } from "./http/health.ts";
import type { MailDelivery } from "./reactors/mailDelivery.ts";
import type { Readers } from "./readModels/readers.ts";

/** How far behind the log a read model may be before the service calls itself unready. */
const LAG_MS_MAX = 10_000;
/** How long readiness waits for the store. */
const STORE_MS_MAX = 2_000;

interface ReadinessOptions {
  readonly config: Config;
  readonly services: Services;
  readonly readers: Readers;
  readonly delivery: MailDelivery;
}

/** What `/health/ready` looks at. Trouble with the relay is shown and does not make the service unready: mail waits. */
export function readinessOf(options: ReadinessOptions): () => Promise<Readonly<Record<string, Check>>> {
  const { config, services, delivery } = options;
  const readModels = readModelCheck(options);
  return async () => {
    const free = services.disk.freeBytes();
    const trouble = delivery.relayTrouble;
    return {
      store: await storeCheck(services),
      read_models: readModels(),
      disk: { ok: free >= config.diskFreeBytesMin, required: true, detail: `${free} bytes free` },
      relay: { ok: trouble === null, required: false, detail: trouble ?? "taking mail" },
    };
  };
}

async function storeCheck({ store }: Services): Promise<Check> {
  try {
    await store.head({ timeoutMs: STORE_MS_MAX });
    return { ok: true, required: true, detail: "answering" };
  } catch {
    return { ok: false, required: true, detail: "not answering" };
  }
}

/** Not ready when one has failed, or none has been level with the log for a while. */
function readModelCheck({ readers, services }: ReadinessOptions): () => Check {
  const { clock } = services;
  const levelAt = new Map<string, number>();
  return () => {
    const now = clock.monotonicMs();
    const wrong = readers.status().filter(({ name, state, isCaughtUp }) => {
      if (isCaughtUp || !levelAt.has(name)) levelAt.set(name, now);
      return state === "failed" || now - (levelAt.get(name) ?? now) > LAG_MS_MAX;
    });
    const detail = wrong.map(({ name, state, failure }) => `${name}: ${failure ?? state}`).join("; ");
    return { ok: wrong.length === 0, required: true, detail: detail || "level with the log" };
  };
}
