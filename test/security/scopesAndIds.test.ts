import { beforeAll, describe, expect, test } from "bun:test";
import { permits, SCOPES, type Scope } from "../../src/domain/apiKey/scopes.ts";
import { type Route, routes } from "../../src/http/server/routes.ts";
import { isAskedOn } from "../gate/answerCoverage.ts";
import { problemOf } from "../support/expectProblem.ts";
import { serviceFixture } from "../support/serviceFixture.ts";
import { testStores } from "../support/stores/stores.ts";
import { message, newKey, type Tenant } from "../support/tenants.ts";
import { until } from "../support/until.ts";

const allRoutes: readonly [string, Route][] = Object.entries(routes);
const guarded = allRoutes.filter(([, { scope }]) => scope !== null);
const withIds = guarded.filter(([, { path }]) => path.includes("/:"));

describe.each(await testStores())("keys and workspaces on $name", (store) => {
  const { service, tenant } = serviceFixture(store);

  describe("a key of one scope", () => {
    const callers = new Map<Scope, Tenant>();
    const asked = guarded.filter(([name]) => isAskedOn(store, name));
    beforeAll(async () => {
      for (const scope of SCOPES) callers.set(scope, await tenant.withKey({ scopes: [scope] }));
    });

    test.each(asked)(
      "finds %s FORBIDDEN unless it is its own, or a wider one",
      async (_, { method, path, scope }) => {
        const at = path.replace(/:[a-z_]+/g, () => crypto.randomUUID());
        for (const [held, caller] of callers) {
          if (permits(new Set([held]), scope ?? "")) continue;
          const answer = await caller.call(method, at, method === "POST" ? { body: {} } : {});
          expect({ held, ...problemOf(answer) }).toEqual({ held, status: 403, code: "FORBIDDEN" });
          expect(answer.headers.get("www-authenticate")).toBeNull();
        }
      },
    );

    test.each(asked)("finds %s UNAUTHORIZED without its key", async (_, { method, path }) => {
      const at = path.replace(/:[a-z_]+/g, () => crypto.randomUUID());
      const answer = await tenant.call(method, at, { headers: { authorization: null } });
      expect(problemOf(answer)).toEqual({ status: 401, code: "UNAUTHORIZED" });
      expect(answer.headers.get("www-authenticate")).toBe("Bearer");
    });
  });

  describe("another workspace's id", () => {
    /** The value for each path parameter, by the noun of the path. */
    type Ids = Readonly<Record<string, readonly string[]>>;
    const unknown: Ids = {
      emails: [crypto.randomUUID()],
      templates: [crypto.randomUUID(), crypto.randomUUID()],
      attachments: [crypto.randomUUID()],
      suppressions: [`nobody-${crypto.randomUUID()}@example.com`],
      senders: ["0".repeat(64)],
      erasures: [crypto.randomUUID()],
      "api-keys": ["0".repeat(12)],
      webhooks: [crypto.randomUUID(), crypto.randomUUID()],
    };
    /** A body that is valid so far, so that its faults cannot hide the fault of the id. */
    const bodies: Readonly<Record<string, object>> = {
      rescheduleEmail: { scheduled_at: new Date(Date.now() + 86_400_000).toISOString() },
      renameTemplate: { name: "b" },
      renameApiKey: { name: "b" },
      draftTemplateVersion: { subject: "a", text: "b", variables: [] },
      previewTemplateVersion: { variables: {} },
      requestSenderVerification: { method: "dns" },
      updateWebhook: { description: "x" },
      recoverWebhook: { since: new Date(Date.now() - 60_000).toISOString() },
    };
    let otherIds: Ids;

    beforeAll(async () => {
      const owner = await service.tenant();
      const create = async (path: string, body: object): Promise<string> => {
        const { status, json } = await owner.call("POST", path, { body });
        if (status >= 300) throw new Error(`${path}: ${JSON.stringify(json)}`);
        return json.id;
      };
      const suppressed = `ana-${crypto.randomUUID()}@example.com`;
      await owner.call("POST", "/api/v1/suppressions", { body: { address: suppressed } });
      const template = await create("/api/v1/templates", { name: "a" });
      const endpoint = await create("/webhooks", { url: "https://hooks.example.com/" });
      const file = {
        filename: "a.txt",
        content_type: "text/plain",
        content: Buffer.from("a").toString("base64"),
      };
      const email = (await owner.send(newKey(), message())).json.id;
      const deliveries = `/webhooks/${endpoint}/deliveries`;
      const delivery = async () => (await owner.call("GET", deliveries)).json.data[0]?.id ?? "";
      await until(async () => (await delivery()) !== "", "a delivery to be created");
      otherIds = {
        emails: [email],
        templates: [
          template,
          await create(`/api/v1/templates/${template}/versions`, bodies.draftTemplateVersion ?? {}),
        ],
        attachments: [await create("/api/v1/attachments", file)],
        suppressions: [suppressed],
        senders: [await create("/api/v1/senders", { domain: "one.example" })],
        erasures: [await create("/api/v1/erasures", { address: "somebody@example.com" })],
        "api-keys": [owner.keyId],
        webhooks: [endpoint, await delivery()],
      };
    });

    const pathWith = ({ path }: Route, ids: Ids): string => {
      const noun = path.split("/").find((part) => part in ids) ?? "";
      const rest = [...(ids[noun] ?? [])];
      return path.replace(/:[a-z_]+/g, () => encodeURIComponent(rest.shift() ?? ""));
    };

    test.each(withIds)(
      "is unknown to %s, indistinguishable from one that does not exist",
      async (name, route) => {
        const body = bodies[name];
        const answered = async (ids: Ids) => {
          const path = pathWith(route, ids);
          const headers = name === "sendEmailAgain" ? { "idempotency-key": newKey() } : {};
          const given = body === undefined ? {} : { body };
          const answer = await tenant.call(route.method, path, { ...given, headers });
          const text = answer.text.replaceAll(answer.headers.get("x-request-id") ?? "", "REQUEST");
          const known = Object.values(ids).flat();
          return { status: answer.status, text: known.reduce((all, id) => all.replaceAll(id, "ID"), text) };
        };
        const [ofOther, ofNobody] = [await answered(otherIds), await answered(unknown)];
        expect(ofOther).toEqual(ofNobody);
        expect(ofOther.status).toBe(404);
      },
    );
  });
});
