import { afterAll, beforeAll, expect, test } from "bun:test";
import { SEARCH_WORDS } from "../../../src/http/dashboard/email/emailSearch.ts";
import type { ListEmailsQuery } from "../../../src/http/email/emailOperations.ts";
import { logIn, type Visitor } from "../../support/dashboard.ts";
import {
  message,
  newKey,
  SENDER,
  startService,
  type Tenant,
  type TestService,
} from "../../support/tenants.ts";

const KEY = newKey();
const NOBODY = "nobody@example.com";
const [LONG_AGO, FAR_AHEAD] = ["2020-01-01T00:00:00Z", "2090-01-01T00:00:00Z"];

/** Each filter of `GET /api/v1/emails`: a value that finds the message, and one that does not. */
const FILTERS: Readonly<
  Record<Exclude<keyof ListEmailsQuery, "limit" | "cursor">, readonly [finds: string, misses: string]>
> = {
  idempotency_key: [KEY, newKey()],
  status: ["queued", "bounced"],
  from: [SENDER, NOBODY],
  to: ["ana@example.com", NOBODY],
  tag: ["receipts", "news"],
  created_from: [LONG_AGO, FAR_AHEAD],
  created_before: [FAR_AHEAD, LONG_AGO],
};

/** The same for each word of the dashboard's search. */
const WORDS: Readonly<
  Record<(typeof SEARCH_WORDS)[number], readonly [finds: string | null, misses: string]>
> = {
  to: FILTERS.to,
  from: FILTERS.from,
  status: FILTERS.status,
  // The message has no template.
  template: [null, crypto.randomUUID()],
  tag: FILTERS.tag,
  after: FILTERS.created_from,
  before: FILTERS.created_before,
  key: FILTERS.idempotency_key,
};

let service: TestService;
let tenant: Tenant;
let visitor: Visitor;
let id: string;
beforeAll(async () => {
  service = await startService({ name: "SQLite", env: {}, isShared: false });
  tenant = await service.tenant();
  visitor = await logIn(service.url, tenant.apiKey);
  id = (await tenant.send(KEY, message({ to: FILTERS.to[0], tags: [FILTERS.tag[0]] }))).json.id;
});
afterAll(() => service.remove());

async function listed(query: Readonly<Record<string, string>>): Promise<readonly string[]> {
  const { status, json } = await tenant.call("GET", `/api/v1/emails?${new URLSearchParams(query)}`);
  expect(status).toBe(200);
  return json.data.map((email: { readonly id: string }) => email.id);
}

test.each(Object.entries(FILTERS))(
  "the list is filtered by %s, with an Idempotency-Key too",
  async (name, values) => {
    const [finds, misses] = values;
    expect(await listed({ [name]: finds })).toEqual([id]);
    expect(await listed({ [name]: misses })).toEqual([]);
    expect(await listed({ idempotency_key: KEY, [name]: finds })).toEqual([id]);
    expect(await listed({ idempotency_key: KEY, [name]: misses })).toEqual([]);
  },
);

test.each(SEARCH_WORDS)("the dashboard finds messages by %s:", async (word) => {
  const shows = async (value: string) => {
    const { html } = await visitor.get(`/messages?${new URLSearchParams({ q: `${word}:${value}` })}`);
    return html.includes(`/messages/${id}`);
  };
  const [finds, misses] = WORDS[word];
  if (finds !== null) expect(await shows(finds)).toBe(true);
  expect(await shows(misses)).toBe(false);
});
