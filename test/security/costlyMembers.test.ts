import { describe, expect, test } from "bun:test";
import { faultsIn } from "../support/mail/sentEmail.ts";
import { serviceFixture } from "../support/serviceFixture.ts";
import { sqliteStore } from "../support/stores/stores.ts";
import { message, newKey } from "../support/tenants.ts";

/** For what does not depend on the store. */
const sqlite = [sqliteStore];

/** Nearly as many values as a body may hold. */
const ITEMS = 90_000;

const names = Array.from({ length: ITEMS }, (_, index) => `w${index}`);
const files = names.map((content_id) => ({ content_id }));

/** The parts of the longest text that a body has room for. */
const repeated = (part: string) => part.repeat(15_000_000 / part.length);

/**
 * What is refused, and the places of its first faults. Checks that compare all pairs would take minutes, and patterns for
 * short texts many seconds.
 */
const cases: readonly (readonly [
  what: string,
  members: Record<string, unknown>,
  pointers: readonly string[],
])[] = [
  ["90,000 tags", { tags: names }, ["/tags"]],
  ["90,000 tags, the last one twice", { tags: [...names, names.at(-1)] }, ["/tags", `/tags/${ITEMS}`]],
  ["90,000 files", { attachments: files }, ["/attachments/0/filename"]],
  ["a local part of 15 MB", { from: `${repeated("a.")}a@example.com` }, ["/from"]],
  ["a domain of 15 MB", { to: `a@${repeated("1.")}com` }, ["/to"]],
  ["a List-Id of 15 MB", { headers: { "List-Id": `<${repeated("a.")}` } }, ["/headers/List-Id"]],
  ["References of 15 MB", { headers: { References: repeated("<a@b> ") } }, ["/headers/References"]],
  [
    "a List-Unsubscribe of 15 MB",
    { headers: { "List-Unsubscribe": repeated("<a:b>, ") } },
    ["/headers/List-Unsubscribe"],
  ],
];

describe.each(sqlite)("a send that would take long to check on $name", (store) => {
  const { tenant } = serviceFixture(store);

  const placesOf = (faults: readonly { readonly pointer: string }[]) => faults.map(({ pointer }) => pointer);

  for (const [what, members, pointers] of cases) {
    test(`is refused as any other: ${what}`, async () => {
      const refused = faultsIn(await tenant.send(newKey(), message(members)));
      expect(placesOf(refused).slice(0, pointers.length)).toEqual([...pointers]);
    });

    test(`is refused within a batch: ${what}`, async () => {
      const emails = [{ ...message(members), idempotency_key: newKey() }];
      const { status, json } = await tenant.call("POST", "/api/v1/emails/batch", { body: { emails } });
      expect(status).toBe(200);
      expect(placesOf(json.data[0].errors).slice(0, pointers.length)).toEqual([...pointers]);
    });
  }
});
