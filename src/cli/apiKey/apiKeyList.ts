import { systemClock } from "../../adapters/system/systemClock.ts";
import { apiKeyCodec } from "../../domain/apiKey/events.ts";
import {
  type ApiKey,
  type ApiKeyState,
  type ApiKeyStatus,
  apiKeyDecider,
  keyStatus,
} from "../../domain/apiKey/state.ts";
import { rfc3339 } from "../../kernel/time.ts";
import { type EventStore, LOG_START } from "../../ports/eventStore.ts";
import type { Command } from "../program/command.ts";
import { withLog } from "../program/openStoreForCommand.ts";
import { WORKSPACE_OPTION } from "../workspace/workspaceOption.ts";

interface ListedKey {
  readonly id: string;
  readonly name: string;
  readonly scopes: readonly string[];
  readonly status: ApiKeyStatus;
  readonly expires_at: string | null;
}

/** Every key of the log by id, folded while the log is read once. */
async function allKeys(store: EventStore): Promise<ReadonlyMap<string, ApiKeyState>> {
  const keys = new Map<string, ApiKeyState>();
  for await (const { events } of store.readAll(LOG_START, { types: apiKeyCodec.types })) {
    for (const recorded of events) {
      const id = recorded.stream.slice("apikey-".length);
      keys.set(id, apiKeyDecider.evolve(keys.get(id) ?? null, apiKeyCodec.decode(recorded)));
    }
  }
  return keys;
}

function listed(id: string, key: ApiKey): ListedKey {
  const { name, scopes, expiresAt } = key;
  const status = keyStatus(key, systemClock.now());
  return {
    id,
    name,
    scopes: [...scopes],
    status,
    expires_at: expiresAt === null ? null : rfc3339(expiresAt),
  };
}

function keyLine({ id, status, expires_at, name, scopes }: ListedKey): string {
  return `${id}  ${status.padEnd(7)}  ${expires_at ?? "does not expire"}  ${name}  ${scopes.join(",")}`;
}

export const apiKeyList: Command = {
  name: "api-key list",
  summary: "List the keys of a workspace",
  description: "Without the keys themselves, which nobody has. Reads the log from its start.",
  examples: ["postledger api-key list --workspace <id>"],
  options: [WORKSPACE_OPTION],
  async run(invocation) {
    const workspaceId = invocation.required("workspace");
    const keys = await withLog(invocation.config, ({ deps }) => allKeys(deps.store));
    const list = [...keys].flatMap(([id, key]) =>
      key?.workspaceId === workspaceId ? [listed(id, key)] : [],
    );
    invocation.print(list, list.map(keyLine));
    return 0;
  },
};
