import { existsSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { apiKeyAggregate, senderAggregate, workspaceAggregate } from "../commands/aggregateDefinitions.ts";
import type { Dependencies } from "../commands/dependencies.ts";
import { load, transact } from "../commands/transact.ts";
import { issueApiKey } from "../domain/apiKey/decisions.ts";
import { SCOPES } from "../domain/apiKey/scopes.ts";
import { addSender, verifySender } from "../domain/sender/decisions.ts";
import { createWorkspace } from "../domain/workspace/decisions.ts";
import { workspaceStream } from "../domain/workspace/events.ts";
import { apiKeyId, newApiKey } from "../kernel/crypto/apiKeyFormat.ts";
import { FILE_MODE } from "../kernel/fileModes.ts";
import { derivedId } from "../kernel/ids.ts";
import { CREATE_KEY, POSTLEDGER, shellQuoted } from "../kernel/text/cliInvocation.ts";
import { type EventStore, LOG_START } from "../ports/eventStore.ts";
import { systemCommandContext } from "./systemCommandContext.ts";

/** The address that a first run may send from. */
const BOOTSTRAP_SENDER = "hello@example.com";

/** The name of the file in DATA_DIR with the first key. */
export const BOOTSTRAP_KEY_FILE = "bootstrap.key";

export function bootstrapKeyPath(dataDir: string): string {
  return join(dataDir, BOOTSTRAP_KEY_FILE);
}

/** The key of a first run that is still in its file. */
export interface BootstrapKey {
  /** Null if the file cannot be read or holds no key. */
  readonly id: string | null;
  /** Null if the log has no such key. */
  readonly workspaceId: string | null;
  readonly isRevoked: boolean;
}

/** The key of a first run; null if its file is gone. */
export async function readBootstrapKey(store: EventStore, dataDir: string): Promise<BootstrapKey | null> {
  const path = bootstrapKeyPath(dataDir);
  if (!existsSync(path)) return null;
  // A file that cannot be read may hold a key that works.
  const text = await readFile(path, "utf8").catch(() => "");
  const id = apiKeyId(text.trim());
  const key = id === null ? null : (await load(store, apiKeyAggregate.of(id))).state;
  return { id, workspaceId: key?.workspaceId ?? null, isRevoked: key?.revoked ?? false };
}

/** Why it should not stay in its file. */
export function bootstrapKeyDetail(file: string): string {
  return `${file} holds a key that may do everything and does not expire`;
}

/** The commands that replace it: one that makes a key for a program, and one that revokes it. */
export function ownKeyCommands({ id }: BootstrapKey, command: string): readonly string[] {
  const create = `${command} ${CREATE_KEY}`;
  return [create, `${command} api-key revoke ${id ?? "<id>"}`];
}

/** What to do about it. */
export function bootstrapKeyRemedy(key: BootstrapKey): string {
  const commands = ownKeyCommands(key, POSTLEDGER).map((command) => `\`${command}\``);
  return `make keys of your own, such as ${commands.join(", then ")}, and delete the file`;
}

/** What to do about a log without a workspace. */
export const WORKSPACE_REMEDY = `\`${POSTLEDGER} workspace create <name>\`, then \`sender add\`, \`sender verify\` and \`${CREATE_KEY}\``;

/**
 * Gives a new log a workspace, a verified sender and a key, and writes the key to `bootstrap.key`. The workspace
 * comes last, so an interrupted start simply repeats all of it. Does nothing if it is already done.
 */
export async function bootstrap(deps: Dependencies, logId: string, dataDir: string): Promise<void> {
  const { store, keys } = deps;
  const workspaceId = derivedId(logId, "bootstrap");
  if ((await store.lastRevision(workspaceStream(workspaceId))) !== null) return;
  const context = { ...systemCommandContext("system"), workspaceId };
  const { id, key } = newApiKey();
  const senderId = keys.hashAddress(workspaceId, BOOTSTRAP_SENDER);
  const sender = senderAggregate.of(senderId);
  await writeFile(bootstrapKeyPath(dataDir), `${key}\n`, { mode: FILE_MODE, flush: true });
  const issued = { workspaceId, name: "bootstrap", hash: keys.hashApiKey(key), scopes: [...SCOPES] };
  await transact(store, apiKeyAggregate.of(id), (state) => issueApiKey(state, issued), context);
  const added = { type: "SenderAdded" as const, data: { workspaceId, address: BOOTSTRAP_SENDER } };
  await transact(store, sender, (state) => addSender(state, added), context);
  await transact(store, sender, (state) => verifySender(state, "bootstrap"), context);
  const workspace = workspaceAggregate.of(workspaceId);
  await transact(store, workspace, (state) => createWorkspace(state, "default"), context);
}

/** Whether the log has a workspace. Everything else comes after one, so if there is none the log is short to read. */
export async function hasWorkspace(store: EventStore): Promise<boolean> {
  for await (const { events } of store.readAll(LOG_START, { types: ["WorkspaceCreated"] })) {
    if (events.length > 0) return true;
  }
  return false;
}

/** A command that sends a first email as it stands, from any folder; it reads the key from its file. */
export function firstCurl(url: string, dataDir: string): string {
  const path = bootstrapKeyPath(dataDir);
  const body = { from: BOOTSTRAP_SENDER, to: "you@example.com", subject: "Hello", text: "It works." };
  return [
    `curl -i ${url}/api/v1/emails`,
    `  -H "Authorization: Bearer $(cat ${shellQuoted(path)})"`,
    `  -H 'Idempotency-Key: hello-${Date.now()}'`,
    "  -H 'Content-Type: application/json'",
    `  -d '${JSON.stringify(body)}'`,
  ].join(" \\\n");
}
