import { rotateApiKey } from "../../domain/apiKey/decisions.ts";
import { apiKeyStream } from "../../domain/apiKey/events.ts";
import { isScope } from "../../domain/apiKey/scopes.ts";
import { type ApiKey, type ApiKeyState, isUsable } from "../../domain/apiKey/state.ts";
import { invariant } from "../../kernel/assert.ts";
import type { CommandContext } from "../../kernel/event/commandContext.ts";
import { omitUndefined } from "../../kernel/omitUndefined.ts";
import { apiKeyAggregate } from "../aggregateDefinitions.ts";
import type { Dependencies } from "../dependencies.ts";
import { resourceChangeRateLimit } from "../resourceChangeRateLimit.ts";
import { load } from "../transact.ts";
import type { Principal } from "./authenticate.ts";
import { type IssuedKey, type IssueOutcome, issueFurtherKey, issueKey, keepKeyIf } from "./issueApiKey.ts";
import { readApiKey } from "./readApiKey.ts";

/** How often callers may rotate one key in a day: each rotation stays in its stream, which its requests read. */
const ROTATIONS_PER_DAY_MAX = 100;

export type RotateOutcome =
  | ({ readonly kind: "rotated" } & IssuedKey)
  /** Revoked or expired. */
  | { readonly kind: "notActive" }
  | { readonly kind: "notFound" }
  | Exclude<IssueOutcome, { kind: "issued" }>;

/** A rotation that somebody asks for. */
interface RequestedRotation {
  readonly id: string;
  readonly overlapMs: number;
  /** The id of the new key; by default a fresh one: see `issueKey`. */
  readonly newKeyId?: string;
}

/**
 * Issues a new key with the same rights as an old one, which ends after an overlap. The issuer must hold all those
 * rights, or it could get more than its own. Throws `ChangeRateError` after too many rotations.
 */
export async function rotateKey(
  deps: Dependencies,
  issuer: Principal,
  { id, overlapMs, newKeyId }: RequestedRotation,
  context: CommandContext,
): Promise<RotateOutcome> {
  const found = await readApiKey(deps, issuer.workspaceId, id);
  if (found === null) return { kind: "notFound" };
  // Looked for first: the old key may have ended by the rotation that is asked for again.
  if (newKeyId !== undefined && (await readApiKey(deps, issuer.workspaceId, newKeyId)) !== null)
    return { kind: "repeated" };
  const { key } = found;
  if (!isUsable(key, context.at)) return { kind: "notActive" };
  // Checked before the new key exists, whose secret would otherwise be lost.
  resourceChangeRateLimit(deps.store, apiKeyStream(id), context, ROTATIONS_PER_DAY_MAX).check();
  const wanted = { ...sameAs(id, key), ...omitUndefined({ id: newKeyId }) };
  const issued = await issueFurtherKey(deps, issuer, wanted, context);
  if (issued.kind !== "issued") return issued;
  const hasEnded = await endRotated(deps, { id, newKeyId: issued.id, overlapMs }, context);
  return hasEnded ? { ...issued, kind: "rotated" } : { kind: "notActive" };
}

/** Like {@link rotateKey}, but by the operator: for a key of any workspace, without an issuing key. */
export async function rotateKeyForOperator(
  deps: Dependencies,
  { id, overlapMs }: { readonly id: string; readonly overlapMs: number },
  context: CommandContext,
): Promise<Extract<RotateOutcome, { kind: "rotated" | "notActive" | "notFound" }>> {
  const { state } = await load(deps.store, apiKeyAggregate.of(id));
  if (state === null) return { kind: "notFound" };
  if (!isUsable(state, context.at)) return { kind: "notActive" };
  const { workspaceId } = state;
  const issued = await issueKey(deps, { ...sameAs(id, state), workspaceId }, context);
  invariant(issued, "a key belongs to a workspace that exists");
  const rotation = { id, newKeyId: issued.id, overlapMs };
  const hasEnded = await endRotated(deps, rotation, { ...context, workspaceId });
  return hasEnded ? { ...issued, kind: "rotated" } : { kind: "notActive" };
}

/** The facts of a key with the same rights. */
function sameAs(id: string, { name, expiresAt, senders, clientRanges, scopes, isTest, person }: ApiKey) {
  const bound = { clientRanges, senders: senders && [...senders] };
  return { name, expiresAt, isTest, person, ...bound, scopes: [...scopes].filter(isScope), rotatedFrom: id };
}

interface Rotation {
  readonly id: string;
  readonly newKeyId: string;
  readonly overlapMs: number;
}

/** Ends the old key. If it was revoked or has expired meanwhile, the new one must not take its place. */
function endRotated(
  deps: Dependencies,
  { id, newKeyId, overlapMs }: Rotation,
  context: CommandContext,
): Promise<boolean> {
  const decide = (state: ApiKeyState) => rotateApiKey(state, newKeyId, { now: context.at, overlapMs });
  return keepKeyIf(deps, newKeyId, context, async () => {
    const limit = { changesPerDayMax: ROTATIONS_PER_DAY_MAX };
    return (await deps.apiKeys.transact(id, decide, context, limit)) === "rotated";
  });
}
