import { describe, expect, test } from "bun:test";
import { acceptedId } from "../../support/mail/sentEmail.ts";
import { serviceFixture } from "../../support/serviceFixture.ts";
import { sqliteStore, testStores } from "../../support/stores/stores.ts";
import { message, newKey } from "../../support/tenants.ts";
import { until } from "../../support/until.ts";

const PATH = "/api/v1/emails";

describe.each(await testStores())("tags on $name", (store) => {
  const { service, tenant } = serviceFixture(store);

  const send = (tags: unknown, as = tenant, key = newKey()) => as.send(key, message({ tags }));
  const accept = (tags: unknown, as = tenant) => acceptedId(as, message({ tags }));
  const listed = async (query: Record<string, string>, as = tenant) => {
    const { status, json } = await as.call("GET", `${PATH}?${new URLSearchParams(query)}`);
    expect(status).toBe(200);
    return json.data.map(({ id }: { id: string }) => id);
  };
  const usage = async (query: Record<string, string>, as = tenant) =>
    (await as.call("GET", `/api/v1/usage?${new URLSearchParams(query)}`)).json;

  test("are shown with the message, and go with its content, also from the log", async () => {
    const id = await accept(["welcome", "Größe 🎩"]);
    const get = async () => (await tenant.call("GET", `${PATH}/${id}`)).json;
    expect((await get()).tags).toEqual(["welcome", "Größe 🎩"]);
    await tenant.call("DELETE", `${PATH}/${id}/content`);
    expect((await get()).tags).toEqual([]);
    expect(JSON.stringify(await service.log.store.read(`email-${id}`, 0, 100))).not.toContain("welcome");
  });

  test("filter lists, together with other filters and page by page, in their own workspace", async () => {
    const own = await service.tenant();
    const ids = [await accept(["a"], own), await accept(["b"], own), await accept(["a", "b"], own)];
    await accept(undefined, own);
    await accept(["a"]);
    expect(await listed({ tag: "a" }, own)).toEqual([ids[2], ids[0]]);
    expect(await listed({ tag: "b" }, own)).toEqual([ids[2], ids[1]]);
    expect(await listed({ tag: "A" }, own)).toEqual([]);
    await own.call("POST", `${PATH}/${ids[2]}/cancel`);
    expect(await listed({ tag: "a", status: "canceled" }, own)).toEqual([ids[2]]);
    expect(await listed({ tag: "a", status: "queued" }, own)).toEqual([ids[0]]);
    expect(await listed({ tag: "a", to: "nobody@example.com" }, own)).toEqual([]);
    const first = (await own.call("GET", `${PATH}?tag=a&limit=1`)).json;
    expect(await listed({ tag: "a", limit: "1", cursor: first.next_cursor }, own)).toEqual([ids[0]]);
    await own.call("DELETE", `${PATH}/${ids[0]}/content`);
    expect(await listed({ tag: "a" }, own)).toEqual([ids[2], ids[0]]);
  });

  test("count in usage, each with what became of its messages, by name for as long as one says it", async () => {
    const own = await service.tenant();
    const first = await accept(["a"], own);
    const both = await accept(["a", "b"], own);
    await accept(undefined, own);
    await own.call("POST", `${PATH}/${both}/cancel`);
    const [all] = (await usage({}, own)).data;
    expect(all).toMatchObject({ accepted: 3, canceled: 1 });
    expect((await usage({ tag: "a" }, own)).data).toMatchObject([{ accepted: 2, canceled: 1 }]);
    expect((await usage({ tag: "c" }, own)).data).toEqual([]);
    const byTag = async () =>
      (await usage({ group_by: "tag" }, own)).data.map((row: { tag: string; accepted: number }) => [
        row.tag,
        row.accepted,
      ]);
    expect((await byTag()).toSorted()).toEqual([
      ["a", 2],
      ["b", 1],
    ]);
    for (const id of [first, both]) await own.call("DELETE", `${PATH}/${id}/content`);
    await until(
      async () => (await byTag()).every(([name]: [string | null]) => name === null),
      "the names to be removed",
    );
    expect((await usage({ tag: "a" }, own)).data).toMatchObject([{ accepted: 2 }]);
    for (const query of [
      { tag: "a", sender_id: "0".repeat(64) },
      { tag: "a", group_by: "sender" },
    ] as Record<string, string>[]) {
      const { status, errors } = await usage(query, own);
      expect({ status, pointer: errors[0].pointer }).toEqual({ status: 400, pointer: "/tag" });
    }
  });

  test("are part of what a repeat is compared by; none is the same as an empty list", async () => {
    const key = newKey();
    const { json } = await tenant.send(key, message());
    expect((await send([], tenant, key)).json).toEqual(json);
    expect((await send(["a"], tenant, key)).json.code).toBe("IDEMPOTENCY_CONFLICT");
  });

  test("of 64 characters, ten of them, are taken", async () => {
    await accept(Array.from({ length: 10 }, (_, index) => `${index}${"🎩".repeat(63)}`));
  });
});

describe("tags", () => {
  const { tenant } = serviceFixture(sqliteStore);

  for (const [what, tags, pointer] of [
    ["eleven", Array.from({ length: 11 }, (_, index) => `t${index}`), "/tags"],
    ["of 65 characters", ["é".repeat(65)], "/tags/0"],
    ["of nothing", ["a", ""], "/tags/1"],
    ["of blanks", [" "], "/tags/0"],
    ["with a line break", ["a\nb"], "/tags/0"],
    ["twice", ["a", "b", "a"], "/tags/2"],
    ["of a number", [7], "/tags/0"],
    ["that are a text", "a", "/tags"],
    ["of null", null, "/tags"],
  ] as const) {
    test(`${what} are refused`, async () => {
      const { status, json } = await tenant.send(newKey(), message({ tags }));
      expect({ status, pointers: json.errors.map((fault: { pointer: string }) => fault.pointer) }).toEqual({
        status: 400,
        pointers: [pointer],
      });
    });
  }
});
