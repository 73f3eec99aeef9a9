import { issueApiKey, revokeApiKey } from "../../domain/apiKey/decisions.ts";
import { apiKeyStream } from "../../domain/apiKey/events.ts";
import type { Scope } from "../../domain/apiKey/scopes.ts";
import {
  changeLimits,
  createWorkspace,
  pauseSending,
  resumeSending,
} from "../../domain/workspace/decisions.ts";
import { type WorkspaceEvent, workspaceStream } from "../../domain/workspace/events.ts";
import type { WorkspaceState } from "../../domain/workspace/state.ts";
import { newApiKey } from "../../kernel/crypto/apiKeyFormat.ts";
import type { Decision } from "../../kernel/event/decider.ts";
import type { CommandContext } from "../../kernel/event/eventMetadata.ts";
import { newId } from "../../kernel/ids.ts";
import { type EpochMs, rfc3339 } from "../../kernel/time.ts";
import { apiKeyAggregate, workspaceAggregate } from "../aggregates.ts";
import { CHANGES_KEPT_FOR_STOPPING } from "../changeRateLimit.ts";
import type { Services } from "../dependencies.ts";
import { load, transact, writtenFirstAt } from "../transact.ts";

/** How often callers may pause and resume a workspace in a day. */
const CHANGES_PER_DAY_MAX = 200;

/** Creates a workspace and answers its id. */
export async function newWorkspace(
  services: Services,
  name: string,
  context: CommandContext,
): Promise<string> {
  const id = newId();
  await transact(
    services.store,
    { ...workspaceAggregate, stream: workspaceStream(id) },
    (state) => createWorkspace(state, name),
    { ...context, workspaceId: id },
  );
  services.workspaces.forget(id);
  return id;
}

/** How a decision about a workspace is taken at a time, and how many changes in a day it must not be beyond. */
interface WorkspaceChange<Outcome> {
  readonly decide: (state: WorkspaceState, now: EpochMs) => Decision<Outcome, WorkspaceEvent>;
  readonly changesPerDayMax: number;
}

async function changeWorkspace<Outcome>(
  services: Services,
  id: string,
  { decide, changesPerDayMax }: WorkspaceChange<Outcome>,
  context: CommandContext,
): Promise<Outcome> {
  const outcome = await transact(
    services.store,
    {
      ...workspaceAggregate,
      stream: workspaceStream(id),
      since: () => services.workspaces.loaded(id),
      changesPerDayMax,
    },
    (state) => decide(state, context.at),
    { ...context, workspaceId: id },
  );
  services.workspaces.forget(id);
  return outcome;
}

/** Stops sending: at once here, within a second everywhere. What is queued waits. A repeat is no error. */
export function pauseWorkspace(services: Services, id: string, context: CommandContext) {
  const change = { decide: pauseSending, changesPerDayMax: CHANGES_PER_DAY_MAX };
  return changeWorkspace(services, id, change, context);
}

/** Lets sending go on, what waited as well. A repeat is no error. */
export function resumeWorkspace(services: Services, id: string, context: CommandContext) {
  const changesPerDayMax = CHANGES_PER_DAY_MAX - CHANGES_KEPT_FOR_STOPPING;
  return changeWorkspace(services, id, { decide: resumeSending, changesPerDayMax }, context);
}

/** Sets what the workspace may use; within a second it holds everywhere. */
export function limitWorkspace(
  services: Services,
  id: string,
  changes: Parameters<typeof changeLimits>[1],
  context: CommandContext,
) {
  const decide = (state: WorkspaceState) => changeLimits(state, changes);
  return changeWorkspace(services, id, { decide, changesPerDayMax: CHANGES_PER_DAY_MAX }, context);
}

/** A workspace as its stream tells it now, with the time of its creation; null when there is none. */
export async function readWorkspace(services: Services, id: string) {
  const stream = workspaceStream(id);
  const known = await services.workspaces.loaded(id);
  const { state } = await load(services.store, workspaceAggregate, stream, known);
  if (state === null) return null;
  return { workspace: state, createdAt: await writtenFirstAt(services.store, stream) };
}

export interface IssueApiKey {
  readonly workspaceId: string;
  readonly name: string;
  readonly scopes: readonly Scope[];
  /** Null: it does not expire. */
  readonly expiresAt: EpochMs | null;
  readonly issuerId?: string;
  readonly rotatedFrom?: string;
  /** Null or absent: it is bound to none. */
  readonly senders?: readonly string[] | null;
  readonly clientRanges?: readonly string[] | null;
}

/** Issues a key. This answer alone carries it: the log holds a keyed hash. */
export async function issueKey(
  services: Services,
  issue: IssueApiKey,
  context: CommandContext,
): Promise<{ readonly id: string; readonly key: string } | null> {
  const { workspaceId, name, scopes, expiresAt, issuerId, rotatedFrom, senders, clientRanges } = issue;
  if ((await services.workspaces.get(workspaceId)) === null) return null;
  const { id, key } = newApiKey();
  const expiry = expiresAt === null ? {} : { expiresAt: rfc3339(expiresAt) };
  const origin = { ...(issuerId ? { issuerId } : {}), ...(rotatedFrom ? { rotatedFrom } : {}) };
  const bound = {
    ...(senders ? { senders: [...senders] } : {}),
    ...(clientRanges ? { clientRanges: [...clientRanges] } : {}),
  };
  const hash = services.keys.hashApiKey(key);
  const data = { workspaceId, name, hash, scopes: [...scopes], ...expiry, ...origin, ...bound };
  await transact(
    services.store,
    { ...apiKeyAggregate, stream: apiKeyStream(id) },
    (state) => issueApiKey(state, data),
    { ...context, workspaceId },
  );
  services.apiKeys.forget(id);
  return { id, key };
}

/**
 * Revokes a key: within a second it opens nothing on any instance. A context with a workspace reaches that
 * workspace's keys only.
 */
export async function revokeKey(services: Services, id: string, context: CommandContext) {
  const { workspaceId } = context;
  const outcome = await transact(
    services.store,
    { ...apiKeyAggregate, stream: apiKeyStream(id) },
    (state) => {
      const isForeign = workspaceId !== undefined && state?.workspaceId !== workspaceId;
      return revokeApiKey(isForeign ? null : state);
    },
    context,
  );
  services.apiKeys.forget(id);
  return outcome;
}
