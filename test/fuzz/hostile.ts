import type { Mutation, MutationContext } from "./mutations.ts";
import { type Draft, targetOf } from "./request.ts";

const BODY_BYTES_MAX = 16_000_000;
/** Bodies of the longest length are dear to make and to send. */
const HUGE_SHARE = 0.002;

function utf16(text: string): Uint8Array {
  return Buffer.concat([Uint8Array.of(0xff, 0xfe), Buffer.from(text, "utf16le")]);
}

function withBytes(text: string, ...bytes: readonly number[]): Uint8Array {
  const whole = Buffer.from(text);
  const middle = Math.floor(whole.length / 2);
  return Buffer.concat([whole.subarray(0, middle), Uint8Array.from(bytes), whole.subarray(middle)]);
}

/** Whole bodies that are no request at all, from one that is. */
const BODIES: readonly (readonly [what: string, make: (text: string) => string | Uint8Array])[] = [
  ["nothing", () => ""],
  ["cut short", (text) => text.slice(0, Math.floor(text.length / 2))],
  ["with something behind it", (text) => `${text}}`],
  ["twice", (text) => text + text],
  ["invalid UTF-8", (text) => withBytes(text, 0xc3, 0x28)],
  ["overlong UTF-8", (text) => withBytes(text, 0xc0, 0x80)],
  ["a surrogate in UTF-8", (text) => withBytes(text, 0xed, 0xa0, 0x80)],
  ["UTF-16", utf16],
  ["a byte order mark", (text) => `\ufeff${text}`],
  ["NUL bytes", (text) => `${text}\u0000\u0000`],
  ["raw control bytes", (text) => withBytes(text, 0x01, 0x0d, 0x0a)],
  ["only brackets", () => "[".repeat(100_000)],
  ["objects without end", () => '{"a":'.repeat(50_000)],
  ["nested 5,000 deep", () => `${"[".repeat(5_000)}${"]".repeat(5_000)}`],
  ["200,000 values", () => `[${"0,".repeat(200_000)}0]`],
  ["many members", () => `{${Array.from({ length: 20_000 }, (_, n) => `"k${n}":${n}`).join(",")}}`],
  ["null", () => "null"],
  ["a number", () => "1e999"],
  ["a string", () => '"\\ud800"'],
  ["an array", (text) => `[${text}]`],
  ["only __proto__", () => '{"__proto__":{"from":"a@example.com"},"constructor":null}'],
  ["not JSON", () => "from=a&to=b"],
  ["single quotes", (text) => text.replaceAll('"', "'")],
  ["a comment", (text) => `/* x */${text}`],
  ["a long number", () => `{"from":${"9".repeat(10_000)}}`],
  ["a long name", () => `{"${"n".repeat(200_000)}":1}`],
];

const hostileBody: Mutation = (draft, { random }) => {
  if (typeof draft.body !== "string") return null;
  if (random.chance(HUGE_SHARE)) {
    const bytes = BODY_BYTES_MAX + random.pick([-1, 0, 1, 1_000_000]);
    draft.body = draft.body.padEnd(bytes);
    return `a body of ${bytes} bytes`;
  }
  const [what, make] = random.pick(BODIES);
  draft.body = make(draft.body);
  return `a body: ${what}`;
};

const otherMethod: Mutation = (draft, { random }) => {
  draft.method = random.pick(["PUT", "PATCH", "DELETE", "OPTIONS", "HEAD", "GET", "POST", "PROPFIND"]);
  if (draft.method === "GET" || draft.method === "HEAD") {
    draft.body = null;
    // What the body named has gone with it; what the path names is still asked for.
    draft.isForeign &&= draft.one.path.includes("{");
  }
  // `fetch` makes a method that it does not know into another one.
  draft.isRaw = draft.method === "PROPFIND";
  return draft.method;
};

const PATHS: readonly ((path: string) => string)[] = [
  (path) => `${path}/`,
  (path) => `/${path}`,
  (path) => `${path}//`,
  (path) => `${path}/extra`,
  (path) => `${path}%00`,
  (path) => `${path}%`,
  (path) => `${path}%zz`,
  (path) => `${path}%ff%fe`,
  (path) => `${path};a=b`,
  (path) => `${path}#fragment`,
  (path) => `${path}??a=b&&=&%=`,
  (path) => `${path}?${"a=1&".repeat(2_000)}`,
  (path) => `${path}?a[__proto__][b]=1&__proto__=2`,
  (path) => path.toUpperCase(),
  (path) => path.replace("/", "/%2e%2e/"),
  (path) => path.replace(/\/(?=[^/]*$)/, "%2f"),
  (path) => path.replace(/[a-z]/, (letter) => `%${letter.charCodeAt(0).toString(16)}`),
  (path) => `${path}/..%2f..%2fetc%2fpasswd`,
  (path) => `${path}/${"a".repeat(7_000)}`,
  (path) => `http://other.example${path}`,
];

const PLACES = ["*", "/", "/api/v1", "/api/v1/emails/__proto__", "/favicon.ico"];
/** How many targets are another place, not the draft's own path written otherwise. */
const PLACE_SHARE = PLACES.length / (PLACES.length + PATHS.length);

const otherTarget: Mutation = (draft, { random }) => {
  const isElsewhere = random.chance(PLACE_SHARE);
  const target = isElsewhere ? random.pick(PLACES) : random.pick(PATHS)(targetOf(draft));
  draft.isRaw = true;
  // What the path named has gone with it: the page at the root is everybody's.
  if (isElsewhere) draft.isForeign = false;
  draft.target = target;
  // A target that is no path need not reach us.
  draft.isMalformed = !/^(http:|\/)/.test(target) || /[#%]/.test(target);
  return `the target ${target.slice(0, 60)}`;
};

const RAW_HEADERS: readonly (readonly [name: string, value: string])[] = [
  ["x-split", "a\r\nx-injected: yes"],
  ["idempotency-key", "12345678\r\nauthorization: Bearer x"],
  ["content-length", "-1"],
  ["transfer-encoding", "chunked, identity"],
  ["authorization", "Bearer \u0000"],
  ["host", "a [b"],
  ["content-type", 'application/json; charset="\u0001'],
  ["x-bytes", "\u00ff\u00fe"],
];

const rawHeader: Mutation = (draft, { random }) => {
  const [name, value] = random.pick(RAW_HEADERS);
  draft.headers[name] = value;
  draft.isRaw = true;
  draft.isMalformed = true;
  return `${name}: ${JSON.stringify(value)}`;
};

/** One of these, and now and then a mutation before it, makes a hostile request. */
export const HOSTILITIES: readonly Mutation[] = [
  hostileBody,
  hostileBody,
  hostileBody,
  hostileBody,
  otherMethod,
  otherMethod,
  otherTarget,
  otherTarget,
  rawHeader,
];

/** Applies one of `mutations` that has something to change; null when none of a few has. */
export function applyOne(
  draft: Draft,
  mutations: readonly Mutation[],
  context: MutationContext,
): string | null {
  for (let tries = 0; tries < 6; tries += 1) {
    const what = context.random.pick(mutations)(draft, context);
    if (what !== null) return what;
  }
  return null;
}
