import { LIST_NAME_CHARS } from "../../src/http/lists/cursorPaging.ts";
import type { Json } from "../../src/kernel/text/json.ts";
import { type Random, randomUuid } from "./random.ts";
import type { Draft } from "./request.ts";
import type { Workspace } from "./world.ts";

/** What a mutation goes by. `foreign` is another workspace, whose resources the caller must not reach. */
export interface MutationContext {
  readonly random: Random;
  readonly foreign: Workspace;
}

/** Changes a draft and answers in a few words how; null where it has nothing to change. */
export type Mutation = (draft: Draft, context: MutationContext) => string | null;

/** Stands for JSON text that no value stringifies to. */
const RAW = "@@raw@@";

/** Values that are wrong nearly everywhere, as JSON text. */
export const ODD_TEXTS: readonly string[] = [
  "null",
  "true",
  "0",
  "-0",
  "-1",
  "1.5",
  "1e400",
  "-1e-400",
  "9007199254740993",
  "1e21",
  '""',
  '" "',
  '"\\u0000"',
  '"\\ud800"',
  '"\\udc00\\ud800"',
  '"a\\r\\nBcc: evil@example.net"',
  '"a\\nX-Injected: 1"',
  '"\\u2028\\u202e\\ufeff"',
  '"😀😀😀"',
  '"../../../etc/passwd"',
  '"{{ 7 | times: 7 }}{% include \\"x\\" %}"',
  '"<script>alert(1)</script>"',
  `"' OR 1=1 --"`,
  '"%00%0d%0a"',
  '"data:text/plain;base64,AAAA"',
  '"=?utf-8?q?=0d=0a?="',
  '"__proto__"',
  "[]",
  "[null]",
  '[[[[[[[["deep"]]]]]]]]',
  "{}",
  '{"__proto__":{"isAdmin":true}}',
  '{"constructor":{"prototype":{"isAdmin":true}}}',
  '{"toString":1,"valueOf":2,"hasOwnProperty":3,"then":4}',
  '{"":{"":{"":""}}}',
  `"${"x".repeat(400)}"`,
  `"${"é".repeat(1_100)}"`,
];

/** Values that take long to look at; drawn seldom. */
const LARGE: readonly string[] = [
  `"${"x".repeat(600_000)}"`,
  `"${"😀".repeat(60_000)}"`,
  `${"[".repeat(40)}${"]".repeat(40)}`,
  `${'{"a":'.repeat(33)}1${"}".repeat(33)}`,
  `[${"0,".repeat(3_000)}0]`,
];
const LARGE_SHARE = 0.03;

const NAMES: readonly string[] = [
  "__proto__",
  "constructor",
  "prototype",
  "toString",
  "hasOwnProperty",
  "",
  "a/b~c",
  "😀",
  "x".repeat(5_000),
  "\u0000",
  "to",
  "workspace_id",
];

interface Place {
  readonly parent: Record<string, Json> | Json[];
  readonly key: string | number;
}

/** Every place in a value, from the outside in. */
function places(value: Json): readonly Place[] {
  if (value === null || typeof value !== "object") return [];
  const parent = value as Place["parent"];
  const keys = Array.isArray(parent) ? parent.map((_, index) => index) : Object.keys(parent);
  return keys.flatMap((key) => [
    { parent, key },
    ...places((parent as Record<string | number, Json>)[key] as Json),
  ]);
}

function oddText({ random }: MutationContext): string {
  return random.pick(random.chance(LARGE_SHARE) ? LARGE : ODD_TEXTS);
}

/** Runs `change` on the parsed body and writes it back, with `raw` where `change` has put {@link RAW}. */
function changeJson(
  draft: Draft,
  change: (places: readonly Place[], root: Json) => { what: string; raw?: string } | null,
) {
  if (typeof draft.body !== "string" || draft.headers["content-type"] !== "application/json") return null;
  const root = JSON.parse(draft.body) as Json;
  const changed = change(places(root), root);
  if (changed === null) return null;
  draft.body = JSON.stringify(root).replace(`"${RAW}"`, () => changed.raw ?? `"${RAW}"`);
  return changed.what;
}

function put({ parent, key }: Place, value: Json): void {
  // Defined, not assigned: a name such as __proto__ is to be a member.
  Object.defineProperty(parent, key, { value, enumerable: true, configurable: true, writable: true });
}

const oddValue: Mutation = (draft, context) =>
  changeJson(draft, (all) => {
    if (all.length === 0) return null;
    const place = context.random.pick(all);
    const raw = oddText(context);
    put(place, RAW);
    return { what: `${place.key} is ${raw.slice(0, 40)}`, raw };
  });

const missingMember: Mutation = (draft, { random }) =>
  changeJson(draft, (all) => {
    const members = all.filter(({ parent }) => !Array.isArray(parent));
    if (members.length === 0) return null;
    const { parent, key } = random.pick(members);
    delete (parent as Record<string, Json>)[key];
    return { what: `without ${key}` };
  });

const unknownMember: Mutation = (draft, context) =>
  changeJson(draft, (all, root) => {
    const objects = [
      root,
      ...all.map(({ parent, key }) => (parent as Record<string | number, Json>)[key]),
    ].filter((value) => value !== null && typeof value === "object" && !Array.isArray(value));
    if (objects.length === 0) return null;
    const name = context.random.pick(NAMES);
    put({ parent: context.random.pick(objects) as Record<string, Json>, key: name }, RAW);
    return { what: `with a member ${name.slice(0, 20)}`, raw: oddText(context) };
  });

const duplicateMember: Mutation = (draft, context) =>
  changeJson(draft, (all) => {
    const members = all.filter(({ parent }) => !Array.isArray(parent));
    if (members.length === 0) return null;
    const place = context.random.pick(members);
    const before = JSON.stringify((place.parent as Record<string, Json>)[place.key]);
    put(place, RAW);
    return { what: `${place.key} twice`, raw: `${before},${JSON.stringify(place.key)}:${oddText(context)}` };
  });

/** An id of the other workspace, by the kind that a member's name tells. */
function foreignId(name: string, { random, foreign }: MutationContext): string | null {
  const kind = { template_id: "template", template_version_id: "template_version" }[name] ?? "attachment";
  const known = foreign.known.get(kind) ?? [];
  return known.length === 0 ? null : random.pick(known).id;
}

const foreignReference: Mutation = (draft, context) =>
  changeJson(draft, (_, root) => {
    if (draft.one.name !== "sendEmail") return null;
    const name = context.random.pick(["template_id", "template_version_id", "attachments"]);
    const id = foreignId(name, context);
    if (id === null) return null;
    put({ parent: root as Record<string, Json>, key: name }, name === "attachments" ? [id] : id);
    draft.isForeign = true;
    return { what: `${name} of another workspace` };
  });

const deletedReference: Mutation = (draft, { random }) =>
  changeJson(draft, (_, root) => {
    const kind = random.pick(["template", "attachment"]);
    const deleted = draft.workspace.deletedIds.get(kind) ?? [];
    if (draft.one.name !== "sendEmail" || deleted.length === 0) return null;
    const id = random.pick(deleted);
    const at = {
      parent: root as Record<string, Json>,
      key: kind === "template" ? "template_id" : "attachments",
    };
    put(at, kind === "template" ? id : [id]);
    return { what: `a ${kind} that is gone` };
  });

/** The kinds of resource that a path's parameter can name, and where they stand in other workspaces. */
function kindOf(path: string): string | null {
  const kinds: readonly (readonly [RegExp, string])[] = [
    [/\/emails\//, "email"],
    [/\/templates\//, "template"],
    [/\/attachments\//, "attachment"],
    [/\/senders\/\{id/, "sender"],
    [/\/api-keys\//, "api_key"],
    [/\/webhooks\//, "webhook_endpoint"],
  ];
  return kinds.find(([pattern]) => pattern.test(path))?.[1] ?? null;
}

/** A delivery of the other workspace, under its own endpoint or under ours. */
function foreignDelivery(draft: Draft, { random, foreign }: MutationContext): string | null {
  const known = foreign.known.get("webhook_delivery") ?? [];
  if (known.length === 0) return null;
  const { id, endpoint_id: endpointId } = random.pick(known);
  draft.params.delivery_id = id;
  if (random.chance(0.5)) draft.params.id = String(endpointId);
  draft.isForeign = true;
  return "a delivery of another workspace";
}

const foreignPath: Mutation = (draft, context) => {
  const { random, foreign } = context;
  if (draft.params.delivery_id !== undefined && random.chance(0.7)) return foreignDelivery(draft, context);
  const known = foreign.known.get(kindOf(draft.one.path) ?? "") ?? [];
  if (draft.params.id === undefined || known.length === 0) return null;
  draft.params.id = random.pick(known).id;
  draft.isForeign = true;
  return "an id of another workspace";
};

const deletedPath: Mutation = (draft, { random }) => {
  const deleted = draft.workspace.deletedIds.get(kindOf(draft.one.path) ?? "") ?? [];
  if (draft.params.id === undefined || deleted.length === 0) return null;
  draft.params.id = random.pick(deleted);
  return "an id that is gone";
};

const otherPath: Mutation = (draft, { random }) => {
  const names = Object.keys(draft.params);
  if (names.length === 0) return null;
  const name = random.pick(names);
  const id = draft.params[name] ?? "";
  const odd = [
    "0",
    "null",
    "undefined",
    "__proto__",
    "constructor",
    "a%20b",
    "%E2%82%AC",
    "-",
    id.toUpperCase(),
  ];
  draft.params[name] = random.pick([...odd, randomUuid(random), `${id}0`, id.slice(1), "x".repeat(2_000)]);
  return `${name} is ${draft.params[name]?.slice(0, 40)}`;
};

const QUERY_VALUES: readonly string[] = [
  "",
  "0",
  "101",
  "-1",
  "1e2",
  "NaN",
  "null",
  "\u0000",
  "é",
  "[]",
  "W10",
  "WyJhIiwiYiJd",
  "WyIyMDMwIiwiMDAwMDAwMDAtMDAwMC0wMDAwLTAwMDAtMDAwMDAwMDAwMDAwIl0",
  "2030-02-30T00:00:00Z",
  "+275760-09-13T00:00:00Z",
  "2030-01-01T00:00:00+99:99",
  "a@b",
  "x".repeat(3_000),
];

const oddQuery: Mutation = (draft, { random, foreign }) => {
  const names = (draft.one.operation.parameters ?? [])
    .filter(({ in: place }) => place === "query")
    .map(({ name }) => name);
  const cursors = [...foreign.cursors.values()].flat();
  // A parameter that the operation has is worth more than one that it refuses by its name.
  const name = random.pick(names.length > 0 && random.chance(0.6) ? names : NAMES);
  const value = cursors.length > 0 && random.chance(0.2) ? random.pick(cursors) : random.pick(QUERY_VALUES);
  draft.query.push([name, value]);
  if (random.chance(0.2)) draft.query.push([name, random.pick(QUERY_VALUES)]);
  return `?${name.slice(0, 20)}=${value.slice(0, 30)}`;
};

/** A cursor with the name of its list, without which nothing else of it is looked at. */
const oddCursor: Mutation = (draft, { random }) => {
  const [own] = draft.workspace.cursors.get(draft.one.name) ?? [];
  if (own === undefined) return null;
  const value = own.slice(0, LIST_NAME_CHARS) + random.pick(QUERY_VALUES);
  draft.query = [...draft.query.filter(([name]) => name !== "cursor"), ["cursor", value]];
  return `?cursor=${value.slice(0, 30)}`;
};

const oddKey: Mutation = (draft, { random }) => {
  if (draft.headers["idempotency-key"] === undefined) return null;
  const used = draft.workspace.sent.map(({ key }) => key);
  const keys = [
    "",
    "short",
    "x".repeat(201),
    "        ",
    "tab\there-inside",
    "~".repeat(200),
    "caf\u00e9-caf\u00e9",
  ];
  draft.headers["idempotency-key"] = random.pick([...keys, ...used.slice(-3)]);
  return `the key ${draft.headers["idempotency-key"]}`;
};

const weakKey: Mutation = (draft, { random }) => {
  const { authorization } = draft.headers;
  if (authorization === undefined) return null;
  const bad = [
    "",
    "Bearer",
    "Basic Zm9vOmJhcg==",
    `${authorization}0`,
    authorization.slice(0, -1),
    "Bearer null",
  ];
  draft.headers.authorization = random.pick([...bad, `Bearer ${draft.workspace.weak.apiKey}`]);
  if (random.chance(0.2)) delete draft.headers.authorization;
  return "another Authorization";
};

const oddHeader: Mutation = (draft, { random }) => {
  const [name, value] = random.pick([
    ["content-type", "text/plain"],
    ["content-type", "application/json; charset=utf-16"],
    ["content-type", "application/x-www-form-urlencoded"],
    ["content-type", "multipart/form-data"],
    ["content-type", "multipart/form-data; boundary=\u00e9"],
    ["content-encoding", "gzip"],
    ["accept", "text/html"],
    ["accept-encoding", "x-unknown"],
    ["range", "bytes=0-1"],
    ["if-none-match", "*"],
    ["x-forwarded-for", "127.0.0.1, ::1, nonsense"],
    ["x-http-method-override", "DELETE"],
    ["x-request-id", "chosen-by-the-caller"],
    ["origin", "https://evil.example"],
    ["expect", "200-maybe"],
    ["x-long", "y".repeat(6_000)],
  ] as const);
  draft.headers[name] = value;
  return `${name}: ${value.slice(0, 40)}`;
};

/** One of these makes a request that is nearly valid. */
export const MUTATIONS: readonly Mutation[] = [
  oddValue,
  oddValue,
  oddValue,
  missingMember,
  unknownMember,
  duplicateMember,
  foreignReference,
  deletedReference,
  // Drawn often: nothing is worse than to be shown what is another's.
  foreignPath,
  foreignPath,
  foreignPath,
  foreignPath,
  foreignPath,
  deletedPath,
  otherPath,
  oddQuery,
  oddCursor,
  oddKey,
  weakKey,
  oddHeader,
];
