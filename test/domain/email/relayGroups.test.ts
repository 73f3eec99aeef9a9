import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import {
  type MailOrigin,
  RELAY_GROUPS_MAX,
  type RelayScope,
  relayGroups,
  relaysFor,
} from "../../../src/domain/email/delivery/relayGroups.ts";

interface Relay extends RelayScope {
  readonly name: string;
}

function relay(name: string, senders?: readonly string[], workspaces?: readonly string[]): Relay {
  return {
    name,
    ...(senders === undefined ? {} : { senders: new Set(senders) }),
    ...(workspaces === undefined ? {} : { workspaces: new Set(workspaces) }),
  };
}

function namesFor(relays: readonly Relay[], from: string, workspaceId: string | null = "w1") {
  return relaysFor(relays, { from, workspaceId }).map(({ name }) => name);
}

describe("mail goes over", () => {
  const relays = [
    relay("address", ["billing@shop.example"]),
    relay("domain", ["shop.example", "billing@shop.example"]),
    relay("below", ["*.shop.example"]),
    relay("further below", ["*.eu.shop.example"]),
    relay("workspace", undefined, ["w2"]),
    relay("domain and workspace", ["shop.example"], ["w2"]),
    relay("rest"),
    relay("rest too"),
  ];
  test.each([
    ["billing@shop.example", "w1", ["address", "domain"]],
    ["billing@shop.example", "w2", ["address", "domain"]],
    ["ana@shop.example", "w1", ["domain"]],
    ["ana@shop.example", "w2", ["domain and workspace"]],
    ["ana@news.shop.example", "w1", ["below"]],
    ["ana@news.shop.example", "w2", ["below"]],
    ["ana@a.eu.shop.example", "w1", ["further below"]],
    ["ana@eu.shop.example", "w1", ["below"]],
    ["ana@other.example", "w2", ["workspace"]],
    ["ana@myshop.example", "w1", ["rest", "rest too"]],
    ["ana@other.example", null, ["rest", "rest too"]],
  ])("the relays that name %s of %s most specifically", (from, workspaceId, expected) => {
    expect(namesFor(relays, from, workspaceId)).toEqual(expected);
  });

  test("no relay if each one is for other mail", () => {
    const restricted = [relay("a", ["a.example"]), relay("w", undefined, ["w2"])];
    expect(namesFor(restricted, "ana@b.example")).toEqual([]);
    const divided = relayGroups(restricted);
    expect(divided.groupOf({ from: "ana@b.example", workspaceId: "w1" })).toBeNull();
    expect(divided.isForAll).toBe(false);
  });
});

/** How specifically an entry names the sender; 0: not at all. */
function senderRank(entry: string, from: string): number {
  const [, domain = ""] = from.split("@");
  if (entry === from) return 1_000;
  if (entry === domain) return 999;
  return entry.startsWith("*.") && domain.endsWith(entry.slice(1)) ? entry.length : 0;
}

/** How specifically a relay is for the mail, by each relay alone; null: it is for other mail. */
function rankOf({ senders, workspaces }: Relay, { from, workspaceId }: MailOrigin): number | null {
  const sender = senders && Math.max(0, ...[...senders].map((entry) => senderRank(entry, from)));
  const workspace = workspaces && Number(workspaces.has(workspaceId ?? ""));
  return sender === 0 || workspace === 0 ? null : 2 * (sender ?? 0) + (workspace ?? 0);
}

function naiveRelaysFor(relays: readonly Relay[], origin: MailOrigin): readonly Relay[] {
  const ranked = relays.flatMap((one) => {
    const rank = rankOf(one, origin);
    return rank === null ? [] : [{ one, rank }];
  });
  const highest = Math.max(...ranked.map(({ rank }) => rank));
  return ranked.filter(({ rank }) => rank === highest).map(({ one }) => one);
}

const domains = ["a.example", "b.a.example", "c.b.a.example", "d.c.b.a.example", "x.test", "ba.example"];
const domain = fc.constantFrom(...domains);
const address = fc.tuple(fc.constantFrom("ana", "bo"), domain).map((parts) => parts.join("@"));
const entry = fc.oneof(
  address,
  domain,
  domain.map((name) => `*.${name}`),
);
const workspace = fc.constantFrom("w1", "w2", "w3");
const somebody = fc.record({ from: address, workspaceId: fc.option(workspace) });

function optionalList(item: fc.Arbitrary<string>): fc.Arbitrary<readonly string[] | undefined> {
  return fc.option(fc.array(item, { minLength: 1, maxLength: 4 }), { nil: undefined });
}

const someRelays = fc
  .array(fc.tuple(optionalList(entry), optionalList(workspace)), { minLength: 1, maxLength: 6 })
  .map((scopes) => scopes.map(([senders, workspaces], index) => relay(String(index), senders, workspaces)));

test("the relays for mail are those that a comparison of each relay by itself finds", () => {
  fc.assert(
    fc.property(someRelays, somebody, (relays, origin) => {
      expect(relaysFor(relays, origin)).toEqual([...naiveRelaysFor(relays, origin)]);
    }),
    { numRuns: 2_000 },
  );
});

test("all mail has the group of just its relays, whether or not its sender is named", () => {
  fc.assert(
    fc.property(someRelays, somebody, (relays, origin) => {
      const { groups, groupOf } = relayGroups(relays);
      fc.pre(groups.length <= RELAY_GROUPS_MAX);
      const number = groupOf(origin);
      const found = relaysFor(relays, origin);
      expect(number === null ? [] : (groups[number] ?? "none")).toEqual([...found]);
    }),
    { numRuns: 2_000 },
  );
});

test("relays without scopes are one group for all mail", () => {
  const relays = [relay("a"), relay("b")];
  expect(relayGroups(relays)).toMatchObject({ groups: [relays], isUndivided: true, isForAll: true });
});
