import { describe, expect, setDefaultTimeout, test } from "bun:test";
import type { Answer } from "../../support/service.ts";
import { serviceFixture } from "../../support/serviceFixture.ts";
import { testStores } from "../../support/stores/stores.ts";

setDefaultTimeout(60_000);

const WRITERS = 120;
const ENDPOINTS_MAX = 100;

/** How many answers there were of each status and code. */
function tally(answers: readonly Answer[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { status, json } of answers) {
    const name = `${status} ${json?.code ?? ""}`.trim();
    counts[name] = (counts[name] ?? 0) + 1;
  }
  return counts;
}

describe.each(await testStores())(`${WRITERS} writes at once on $name`, (store) => {
  const { tenant } = serviceFixture(store, {});

  const atOnce = (request: (index: number) => Promise<Answer>) =>
    Promise.all(Array.from({ length: WRITERS }, (_, index) => request(index)));

  test("to one workspace's endpoints all get a definite answer", async () => {
    const register = (index: number) =>
      tenant.call("POST", "/webhooks", { body: { url: `https://hooks-${index}.example.com/` } });
    const registered = await atOnce(register);
    expect(tally(registered)).toEqual({
      "201": ENDPOINTS_MAX,
      "409 WEBHOOK_LIMIT_REACHED": WRITERS - ENDPOINTS_MAX,
    });
    const paths = registered.filter(({ status }) => status === 201).map(({ json }) => `/webhooks/${json.id}`);
    const pathOf = (index: number) => paths[index % ENDPOINTS_MAX] as string;
    const changed = await atOnce((index) =>
      tenant.call("PATCH", pathOf(index), { body: { description: `The change ${index}` } }),
    );
    expect(tally(changed)).toEqual({ "200": WRITERS });
    const tested = await atOnce((index) => tenant.call("POST", `${pathOf(index)}/test`));
    expect(tally(tested)).toEqual({ "202": WRITERS });
  });

  test("to one template's drafts all get a definite answer", async () => {
    const { json: template } = await tenant.call("POST", "/api/v1/templates", { body: { name: "Order" } });
    const path = `/api/v1/templates/${template.id}/versions`;
    const drafted = await atOnce((index) =>
      tenant.call("POST", path, { body: { subject: `Order ${index}`, text: "Thank you." } }),
    );
    expect(tally(drafted)).toEqual({ "201": WRITERS });
    const numbers = drafted.map(({ json }) => Number(json.number)).toSorted((left, right) => left - right);
    expect(numbers).toEqual(Array.from({ length: WRITERS }, (_, index) => index + 1));
    for (const [index, { json }] of drafted.entries()) expect(json.subject).toBe(`Order ${index}`);
  });
});
