import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { openContent, prepareContent } from "../../src/commands/email/content/storedContent.ts";
import { emailCodec } from "../../src/domain/email/events.ts";
import { encodeData } from "../../src/kernel/event/eventCodec.ts";
import {
  contentEventHash,
  type ErasedEventHash,
  erasedEventHashes,
  eventHash,
  type HashedEvent,
} from "../../src/kernel/event/eventHash.ts";
import type { JsonObject } from "../../src/kernel/text/json.ts";
import { memoryContentStore } from "../support/stores/memoryContentStore.ts";

const metadata = { schema: 1, at: "2026-01-01T00:00:00.000Z", correlationId: "c", actor: "api-key:1" };
const event: HashedEvent = {
  stream: "workspace-1",
  revision: 3,
  type: "LimitsChanged",
  id: "0198b3f0-0000-7000-8000-000000000001",
  data: { limits: { messagesPerDay: 10, storageBytes: 20 } },
  metadata,
};
const salt = "6c1f3c3e-8f0a-4c1c-9d55-0d0f4f0f8a11";
const content = { from: "a@example.com", to: "b@example.com", subject: "Hello", text: "It works." };

const folder = {
  workspaceId: crypto.randomUUID(),
  ownerId: crypto.randomUUID(),
  folderId: crypto.randomUUID(),
};

/** Data as it comes back from a store. */
function throughStore(data: object): object {
  return data instanceof Uint8Array ? data : JSON.parse(JSON.stringify(data));
}

/** The two events of a send as the log has them. */
async function sent(text: string): Promise<readonly [stored: HashedEvent, queued: HashedEvent]> {
  const sealed = await prepareContent(memoryContentStore(), folder, { ...content, text });
  const contentEventId = crypto.randomUUID();
  const streamAndMetadata = { stream: "email-1", metadata };
  const accepted = { contentEventId, contentDigest: sealed.digest, contentBytes: sealed.bytes };
  return [
    {
      ...streamAndMetadata,
      revision: 0,
      type: "EmailContentStored",
      id: contentEventId,
      data: throughStore(sealed.event),
    },
    { ...streamAndMetadata, revision: 1, type: "EmailQueued", id: crypto.randomUUID(), data: accepted },
  ];
}

describe("the leaf of an event", () => {
  test("is the same as in every release", () => {
    expect(eventHash(event)).toBe("cc70a942edc4c3564c37c2f0f70077fdad6ac82d57fc10a61c2fdeb1ae6d9fd1");
  });

  const others: readonly (readonly [string, HashedEvent])[] = [
    ["stream", { ...event, stream: "workspace-2" }],
    ["revision", { ...event, revision: 4 }],
    ["type", { ...event, type: "LimitsChangee" }],
    ["id", { ...event, id: "0198b3f0-0000-7000-8000-000000000002" }],
    ["data", { ...event, data: { limits: { messagesPerDay: 11, storageBytes: 20 } } }],
    ["data added", { ...event, data: { ...event.data, more: null } }],
    ["data as bytes", { ...event, data: new Uint8Array([1]) }],
    ["other bytes", { ...event, data: new Uint8Array([2]) }],
    ["data that is a text", { ...event, data: "json" as unknown as object }],
    ["data that is nothing", { ...event, data: null as unknown as object }],
    ["metadata", { ...event, metadata: { ...metadata, actor: "api-key:2" } }],
    ["metadata added", { ...event, metadata: { ...metadata, more: null } }],
  ];
  test("differs with every part of the event", () => {
    const hashes = [event, ...others.map(([, other]) => other)].map(eventHash);
    expect(new Set(hashes).size).toBe(hashes.length);
  });

  test("does not depend on compression, order of keys or position", () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (data) => {
        const plain = eventHash({ ...event, data });
        const reversed = Object.fromEntries(Object.entries(data).reverse());
        expect(eventHash({ ...event, data: encodeData(data, 5_000) })).toBe(plain);
        expect(eventHash({ ...event, data: throughStore(reversed) })).toBe(plain);
        expect(eventHash({ ...event, data, position: "1" } as HashedEvent)).toBe(plain);
      }),
    );
  });
});

describe("the leaf of a message's content", () => {
  test.each([
    ["short", "It works."],
    ["long enough to be compressed", "It works. ".repeat(1_000)],
    ["too long for an event", "It works. ".repeat(60_000)],
  ])("can be had from its acceptance: %s", async (_, text) => {
    const [stored, queued] = await sent(text);
    expect(contentEventHash(queued)).toBe(eventHash(stored));
    expect(contentEventHash(stored)).toBeNull();
    expect(contentEventHash({ ...queued, revision: 2 })).toBeNull();
  });

  test("covers the bytes in the content store by their digest", async () => {
    const store = memoryContentStore();
    const long = { ...content, text: "It works. ".repeat(60_000) };
    const { event: data } = await prepareContent(store, folder, long);
    const stored = emailCodec.decode({ type: "EmailContentStored", data: throughStore(data) });
    expect(stored.type === "EmailContentStored" && stored.data.reference?.sha256).toBeTruthy();
    expect(
      await openContent(store, folder, stored.type === "EmailContentStored" ? stored.data : null),
    ).toEqual(long);
  });

  const held: HashedEvent = { ...event, type: "EmailContentStored", revision: 0, data: { salt, content } };
  const forgeries: readonly (readonly [string, JsonObject])[] = [
    ["another content", { salt, content: { ...content, text: "It works!" } }],
    ["another salt", { salt: salt.replace("6", "7"), content }],
    ["a member more", { salt, content, more: 1 }],
    ["another member", { salt, reference: content }],
    ["the content within the content", { salt, content: { content } }],
    ["both members", { salt, content, reference: { sha256: "0", bytes: 1 } }],
    ["no salt", { content }],
    ["a salt that takes in the name of a member", { salt: `${salt}reference`, content }],
    ["no object", { salt, content: "content" }],
  ];
  test("differs with everything else that the event may hold", () => {
    const hashes = [held, ...forgeries.map(([, data]) => ({ ...held, data }))].map(eventHash);
    expect(new Set(hashes).size).toBe(hashes.length);
    const texts = [null, "content", [salt, content]].map((data) => ({ ...held, data }) as HashedEvent);
    expect(new Set([...hashes, ...texts.map(eventHash)]).size).toBe(hashes.length + texts.length);
  });
});

describe("what an event has erased", () => {
  const leaf = "ab".repeat(32);
  const hashesIn = (erased: unknown): readonly ErasedEventHash[] =>
    erasedEventHashes({ ...event, data: { erased } as object });

  test("is what it names, of earlier revisions of its stream", () => {
    const named = [
      { revision: 0, leaf },
      { revision: 2, leaf },
    ];
    expect(hashesIn(named)).toEqual(named);
    expect(hashesIn([...named, { revision: 3, leaf }, { revision: 9, leaf }])).toEqual(named);
  });

  test.each([
    ["no list", {}],
    ["no entries", [null, 1, "x", [0, leaf]]],
    [
      "a revision that is none",
      [
        { revision: -1, leaf },
        { revision: 0.5, leaf },
        { revision: "0", leaf },
      ],
    ],
    [
      "a leaf that is none",
      [{ revision: 0 }, { revision: 0, leaf: leaf.toUpperCase() }, { revision: 0, leaf: "ab" }],
    ],
  ])("is nothing where it says so badly: %s", (_, erased) => {
    expect(hashesIn(erased)).toEqual([]);
  });

  test("is empty for bytes that are not JSON", () => {
    expect(erasedEventHashes({ ...event, data: new Uint8Array([1, 2, 3]) })).toEqual([]);
  });
});
