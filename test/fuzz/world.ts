import type { Scope } from "../../src/domain/apiKey/scopes.ts";
import type { Json, JsonObject } from "../../src/kernel/text/json.ts";
import type { Tenant, TestService } from "../support/tenants.ts";
import { canary, type Mark, markOf } from "./canary.ts";
import type { Random } from "./random.ts";

/** A resource as an answer showed it. */
export type Known = JsonObject & { readonly id: string };

/** What may be remembered of one kind; more would only be looked at less often. */
const KNOWN_MAX = 60;

/** A tenant with everything that it has learnt from answers. */
export interface Workspace {
  readonly mark: Mark;
  readonly tenant: Tenant;
  /** A key of the same workspace that may do nothing but read messages. */
  readonly weak: Tenant;
  readonly sender: string;
  /** Resources by their `object`. */
  readonly known: Map<string, Known[]>;
  /** Ids that were canceled, archived, deleted or revoked, by the resources' `object`. */
  readonly deletedIds: Map<string, string[]>;
  /** Cursors by the operation that gave them. */
  readonly cursors: Map<string, string[]>;
  /** Sends that were accepted: to be repeated. */
  readonly sent: { readonly key: string; readonly body: Json }[];
  /** Fresh text with the workspace's mark in it. */
  canary(): string;
}

let workspaces = 0;

/** Makes a workspace with a verified sender and two keys. */
export async function makeWorkspace(service: TestService): Promise<Workspace> {
  workspaces += 1;
  const mark = markOf(workspaces);
  let serial = 0;
  const next = () => {
    serial += 1;
    return canary(mark, serial);
  };
  const sender = `${next()}@example.com`;
  const tenant = await service.tenant({ sender });
  const scopes: readonly Scope[] = ["email:read"];
  return {
    mark,
    tenant,
    weak: await tenant.withKey({ scopes }),
    sender,
    known: new Map(),
    deletedIds: new Map(),
    cursors: new Map(),
    sent: [],
    canary: next,
  };
}

function keep<Item>(list: Item[], item: Item, random: Random): void {
  if (list.length < KNOWN_MAX) list.push(item);
  else list[random.integer(0, KNOWN_MAX - 1)] = item;
}

function listFor<Item>(map: Map<string, Item[]>, name: string): Item[] {
  const list = map.get(name) ?? [];
  map.set(name, list);
  return list;
}

/** Remembers `item` under `name`; of many, one is forgotten. */
export function remember<Item>(map: Map<string, Item[]>, name: string, item: Item, random: Random): void {
  keep(listFor(map, name), item, random);
}

/** Learns the resources and the cursor that an answer shows. `operation` is what was asked. */
export function recordCreated(workspace: Workspace, operation: string, answer: Json, random: Random): void {
  if (answer === null || typeof answer !== "object" || Array.isArray(answer)) return;
  const { data, next_cursor: cursor } = answer as JsonObject;
  if (typeof cursor === "string") remember(workspace.cursors, operation, cursor, random);
  for (const item of Array.isArray(data) ? data : [answer]) {
    const { object, id } = item as JsonObject;
    if (typeof object !== "string" || typeof id !== "string") continue;
    const list = listFor(workspace.known, object);
    const at = list.findIndex((known) => known.id === id);
    if (at >= 0) list[at] = item as Known;
    else if (!listFor(workspace.deletedIds, object).includes(id)) keep(list, item as Known, random);
  }
}

/** Forgets a resource and remembers that it is gone. */
export function recordDeleted(workspace: Workspace, object: string, id: string, random: Random): void {
  const list = listFor(workspace.known, object);
  const at = list.findIndex((known) => known.id === id);
  if (at >= 0) list.splice(at, 1);
  remember(workspace.deletedIds, object, id, random);
}
