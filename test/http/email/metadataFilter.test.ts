import { describe, expect, test } from "bun:test";
import { TEST_SCOPES } from "../../../src/domain/apiKey/scopes.ts";
import { METADATA_INDEXED_MAX } from "../../../src/domain/email/contentLimits.ts";
import { acceptedId } from "../../support/mail/sentEmail.ts";
import { serviceFixture } from "../../support/serviceFixture.ts";
import { testStores } from "../../support/stores/stores.ts";
import { message, newKey } from "../../support/tenants.ts";

const PATH = "/api/v1/emails";

describe.each(await testStores())("the filter by metadata on $name", (store) => {
  const { service, tenant } = serviceFixture(store);

  const accept = (metadata: unknown, as = tenant, parts = {}) =>
    acceptedId(as, message({ metadata, ...parts }));
  const list = (query: Record<string, string>, as = tenant) =>
    as.call("GET", `${PATH}?${new URLSearchParams(query)}`);
  const listed = async (query: Record<string, string>, as = tenant) => {
    const { status, json } = await list(query, as);
    expect({ status, json }).toMatchObject({ status: 200 });
    return json.data.map(({ id }: { id: string }) => id);
  };
  const acceptanceOf = async (id: string) => (await service.log.store.read(`email-${id}`, 1, 1))[0]?.data;

  test("finds a text, a number and a boolean by their text, in their own workspace", async () => {
    const own = await service.tenant();
    const text = await accept({ order: "4711" }, own);
    const number = await accept({ order: 4711, paid: true }, own);
    await accept({ other: "4711", order: "47110" }, own);
    await accept({ order: "4711" });
    expect(await listed({ "metadata[order]": "4711" }, own)).toEqual([number, text]);
    expect(await listed({ "metadata[paid]": "true" }, own)).toEqual([number]);
    expect(await listed({ "metadata[Order]": "4711" }, own)).toEqual([]);
    expect(
      await listed({ "metadata[order]": "4711" }, await own.withKey({ isTest: true, scopes: TEST_SCOPES })),
    ).toEqual([]);
  });

  test("takes any name and value that a send takes", async () => {
    const own = await service.tenant();
    const odd = { "a]b[c": "x=1&y=2", ["🎩".repeat(80)]: "é".repeat(500), "a\nb": "c", a: "b\nc" };
    const id = await accept(odd, own);
    for (const [name, value] of Object.entries(odd))
      expect({ name, ids: await listed({ [`metadata[${name}]`]: value }, own) }).toEqual({ name, ids: [id] });
    expect(await listed({ "metadata[__proto__]": "1" }, own)).toEqual([]);
  });

  test("goes together with other filters and other pairs, page by page", async () => {
    const own = await service.tenant();
    const ids = [
      await accept({ shop: "main", order: "1" }, own, { tags: ["a"] }),
      await accept({ shop: "main", order: "2" }, own, { to: "bo@example.com" }),
      await accept({ shop: "main", order: "1" }, own),
    ];
    await accept({ order: "1" }, own, { tags: ["a"] });
    const shop = { "metadata[shop]": "main" };
    expect(await listed(shop, own)).toEqual(ids.toReversed());
    expect(await listed({ ...shop, "metadata[order]": "1" }, own)).toEqual([ids[2], ids[0]]);
    expect(await listed({ ...shop, tag: "a" }, own)).toEqual([ids[0]]);
    expect(await listed({ ...shop, to: "bo@example.com" }, own)).toEqual([ids[1]]);
    await own.call("POST", `${PATH}/${ids[1]}/cancel`);
    expect(await listed({ ...shop, status: "canceled" }, own)).toEqual([ids[1]]);
    expect(await listed({ ...shop, created_before: "2020-01-01T00:00:00Z" }, own)).toEqual([]);
    const first = (await list({ ...shop, limit: "2" }, own)).json;
    expect(await listed({ ...shop, cursor: first.next_cursor }, own)).toEqual([ids[0]]);
  });

  test("does not find a message once its content is erased, with its Idempotency-Key neither", async () => {
    const [key, order] = [newKey(), newKey()];
    const { id } = (await tenant.send(key, message({ metadata: { order } }))).json;
    const kept = await accept({ order });
    const query = { "metadata[order]": order };
    const byKey = { ...query, idempotency_key: key };
    expect(await listed(query)).toEqual([kept, id]);
    expect(await listed(byKey)).toEqual([id]);
    await tenant.call("DELETE", `${PATH}/${id}/content`);
    expect(await listed(query)).toEqual([kept]);
    expect(await listed(byKey)).toEqual([]);
    const stream = await service.log.store.read(`email-${id}`, 0, 100);
    expect(JSON.stringify(stream)).not.toContain(order);
  });

  test(`finds a message by its first ${METADATA_INDEXED_MAX} pairs; one without metadata has no hashes`, async () => {
    const names = Array.from({ length: METADATA_INDEXED_MAX + 1 }, (_, index) => `name ${index}`);
    const id = await accept(Object.fromEntries(names.map((name) => [name, "many"])));
    expect(await listed({ [`metadata[${names.at(-2)}]`]: "many" })).toEqual([id]);
    expect(await listed({ [`metadata[${names.at(-1)}]`]: "many" })).toEqual([]);
    const { metadataHashes } = (await acceptanceOf(id)) as { readonly metadataHashes: readonly string[] };
    expect(metadataHashes).toHaveLength(METADATA_INDEXED_MAX);
    for (const metadata of [undefined, {}])
      expect(await acceptanceOf(await accept(metadata))).not.toHaveProperty("metadataHashes");
  });
});
