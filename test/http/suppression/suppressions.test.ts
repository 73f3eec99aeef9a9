import { describe, expect, test } from "bun:test";
import { suppressionStream } from "../../../src/domain/suppression/events.ts";
import { expectProblem } from "../../support/expectProblem.ts";
import type { Caller } from "../../support/service.ts";
import { serviceFixture } from "../../support/serviceFixture.ts";
import { serviceWithRelay } from "../../support/serviceWithRelay.ts";
import { testStores } from "../../support/stores/stores.ts";
import { message, newKey } from "../../support/tenants.ts";
import { until } from "../../support/until.ts";

const PATH = "/api/v1/suppressions";
const NOTE_CHARACTERS_MAX = 500;
const DELIVERY_MS_MAX = 120_000;

const pathOf = (address: string) => `${PATH}/${encodeURIComponent(address)}`;

const add = async (caller: Caller, body: Record<string, unknown>) => {
  const answer = await caller.call("POST", PATH, { body });
  return answer;
};
const get = async (caller: Caller, address: string) => {
  const answer = await caller.call("GET", pathOf(address));
  return answer;
};
const remove = async (caller: Caller, address: string) => {
  const answer = await caller.call("DELETE", pathOf(address));
  return answer;
};
const list = async (caller: Caller, query = "") => {
  const answer = await caller.call("GET", PATH + query);
  return answer;
};

describe.each(await testStores())("suppressions on $name", (store) => {
  const { service, tenant } = serviceFixture(store);

  let personCount = 0;
  const newAddress = () => {
    personCount += 1;
    return `someone-${personCount}@example.com`;
  };
  const storedEvents = async (workspaceId: string, address: string) => {
    const hash = service.log.keys.hashAddress(workspaceId, address);
    return service.log.store.read(suppressionStream(hash), 0, 100);
  };

  describe("adding", () => {
    test("answers 201 with the suppression and where it is", async () => {
      const address = newAddress();
      const answer = await add(tenant, { address, note: "asked by phone" });
      expect(answer.status).toBe(201);
      expect(answer.headers.get("location")).toBe(pathOf(address));
      expect(answer.json).toMatchObject({
        object: "suppression",
        address,
        reason: "manual",
        note: "asked by phone",
        email_id: null,
      });
      expect((await tenant.call("GET", answer.headers.get("location") ?? "")).text).toBe(answer.text);
    });

    test("again answers 200 with what is there, and writes nothing", async () => {
      const address = newAddress();
      const first = await add(tenant, { address, note: "first" });
      const second = await add(tenant, { address: address.toUpperCase(), note: "second" });
      expect([first.status, second.status]).toEqual([201, 200]);
      expect(second.text).toBe(first.text);
      expect(await storedEvents(tenant.workspaceId, address)).toHaveLength(2);
    });

    test("by many at once makes one suppression", async () => {
      const address = newAddress();
      const answers = await Promise.all(Array.from({ length: 10 }, () => add(tenant, { address })));
      expect(answers.map(({ status }) => status).sort()).toEqual([...Array(9).fill(200), 201]);
      expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
    });

    test("keeps address and note in one event, and neither anywhere else", async () => {
      const address = newAddress();
      await add(tenant, { address, note: `wrote from ${address}` });
      const [stored, suppressed] = await storedEvents(tenant.workspaceId, address);
      expect(stored).toMatchObject({ type: "SuppressionAddressStored", data: { address } });
      expect(suppressed?.type).toBe("RecipientSuppressed");
      expect(JSON.stringify(suppressed)).not.toContain(address);
    });

    const refused: readonly [string, Record<string, unknown>, string][] = [
      ["without an address", {}, "/address"],
      ["with null for an address", { address: null }, "/address"],
      ["with two addresses", { address: "a@example.com, b@example.com" }, "/address"],
      ["with a display name", { address: "Ana <a@example.com>" }, "/address"],
      ["with a text that is no address", { address: "example.com" }, "/address"],
      ["with a line break", { address: "a@example.com\r\n" }, "/address"],
      ["with an address of 321 characters", { address: `${"a".repeat(309)}@example.com` }, "/address"],
      ["with a note that is no text", { address: "a@example.com", note: 1 }, "/note"],
      ["with a note that is too long", { address: "a@example.com", note: "n".repeat(501) }, "/note"],
      ["with a field that there is not", { address: "a@example.com", reason: "bounce" }, "/reason"],
    ];
    for (const [how, body, pointer] of refused) {
      test(`${how} is refused at ${pointer}`, async () => {
        const answer = await add(tenant, body);
        expectProblem(answer, 400, "INVALID_REQUEST");
        expect(answer.json.errors[0].pointer).toStartWith(pointer);
      });
    }

    test("takes a note of 500 characters, emoji as well, or none", async () => {
      const note = `${"✋".repeat(NOTE_CHARACTERS_MAX - 1)}🛑`;
      expect((await add(tenant, { address: newAddress(), note })).json.note).toBe(note);
      expect((await add(tenant, { address: newAddress(), note: null })).json.note).toBeNull();
      expect((await add(tenant, { address: newAddress() })).json.note).toBeNull();
    });
  });

  describe("an address", () => {
    test("is one and the same in every spelling", async () => {
      const added = await add(tenant, { address: "Zoe@Example.com" });
      expect(added.json.address).toBe("Zoe@example.com");
      for (const spelling of ["zoe@example.com", "ZOE@EXAMPLE.COM", "Zoe@Example.Com", "zOE@ｅxample.com"]) {
        expect((await get(tenant, spelling)).text).toBe(added.text);
        const sent = await tenant.send(newKey(), message({ to: spelling }));
        expect(sent.json.status).toBe("suppressed");
      }
    });

    test("in an international domain is the one in ASCII", async () => {
      const added = await add(tenant, { address: "ana@Bücher.example" });
      expect(added.json.address).toBe("ana@xn--bcher-kva.example");
      expect((await get(tenant, "ANA@xn--bcher-kva.EXAMPLE")).text).toBe(added.text);
      expect((await get(tenant, "ana@bücher.example")).text).toBe(added.text);
    });

    test.each([
      "a+b@example.com",
      "a/b@example.com",
      "a%b@example.com",
      "a?b=c#d@example.com",
      "..@example.com",
    ])("%p is found by its path, or is no address at all", async (address) => {
      const added = await add(tenant, { address });
      const isAddress = added.status === 201;
      expect(isAddress).toBe(!address.startsWith(".."));
      expect((await get(tenant, address)).status).toBe(isAddress ? 200 : 400);
      expect((await remove(tenant, address)).status).toBe(isAddress ? 204 : 400);
    });

    test.each(["%", "%zz", "%ff%fe"])("path of %p cannot be an address", async (text) => {
      for (const method of ["GET", "DELETE"]) {
        expectProblem(await tenant.call(method, `${PATH}/${text}`), 400, "INVALID_REQUEST");
      }
    });

    test.each(["%00", "a%20b@example.com", "example.com", "a@b@example.com"])(
      "in a path cannot be %p",
      async (text) => {
        for (const method of ["GET", "DELETE"]) {
          const refused = await tenant.call(method, `${PATH}/${text}`);
          expectProblem(refused, 400, "INVALID_REQUEST");
          expect(refused.json.errors).toEqual([{ pointer: "/address", message: expect.any(String) }]);
        }
      },
    );

    test("that is not suppressed, or only in another workspace, is NOT_FOUND", async () => {
      const address = newAddress();
      const other = await service.tenant({ sender: null });
      await add(other, { address });
      expectProblem(await get(tenant, address), 404, "NOT_FOUND");
      expectProblem(await remove(tenant, address), 404, "NOT_FOUND");
      expect((await get(other, address)).status).toBe(200);
    });
  });

  describe("a send", () => {
    test("right after the address was added is suppressed, and right after it was removed is queued", async () => {
      for (let round = 0; round < 5; round += 1) {
        const to = newAddress();
        expect((await add(tenant, { address: to })).status).toBe(201);
        expect((await tenant.send(newKey(), message({ to }))).json).toMatchObject({ status: "suppressed" });
        expect((await remove(tenant, to)).status).toBe(204);
        expect((await tenant.send(newKey(), message({ to }))).json).toMatchObject({ status: "queued" });
      }
    });

    test("to a suppressed recipient is a 202 whose story ends there", async () => {
      const to = newAddress();
      await add(tenant, { address: to });
      const sent = await tenant.send(newKey(), message({ to }));
      expect(sent.status).toBe(202);
      const { json } = await tenant.call("GET", `/api/v1/emails/${sent.json.id}`);
      expect(json.status).toBe("suppressed");
    });

    test("that is repeated gets its first answer, whatever happened to the suppression since", async () => {
      const to = newAddress();
      const [queuedKey, suppressedKey] = [newKey(), newKey()];
      const queued = await tenant.send(queuedKey, message({ to }));
      await add(tenant, { address: to });
      const suppressed = await tenant.send(suppressedKey, message({ to }));
      expect([queued.json.status, suppressed.json.status]).toEqual(["queued", "suppressed"]);
      const expectReplays = async () => {
        for (const [key, first] of [[queuedKey, queued] as const, [suppressedKey, suppressed] as const]) {
          const repeat = await tenant.send(key, message({ to }));
          expect(repeat.text).toBe(first.text);
          expect(repeat.headers.get("idempotent-replayed")).toBe("true");
        }
      };
      await expectReplays();
      await remove(tenant, to);
      await expectReplays();
    });

    test("from another workspace goes to the same recipient", async () => {
      const to = newAddress();
      await add(tenant, { address: to });
      const sent = await (await service.tenant()).send(newKey(), message({ to }));
      expect(sent.json.status).toBe("queued");
    });
  });

  describe("removing", () => {
    test("answers 204, then 404; what is added then is another suppression", async () => {
      const address = newAddress();
      const first = await add(tenant, { address, note: "first" });
      expect((await remove(tenant, address)).status).toBe(204);
      expectProblem(await remove(tenant, address), 404, "NOT_FOUND");
      expectProblem(await get(tenant, address), 404, "NOT_FOUND");
      const second = await add(tenant, { address });
      expect(second.status).toBe(201);
      expect(second.json.id).not.toBe(first.json.id);
      expect(second.json.note).toBeNull();
      expect((await get(tenant, address)).text).toBe(second.text);
      const { json } = await list(tenant, "?limit=1");
      expect(json.data).toEqual([second.json]);
      expect((await storedEvents(tenant.workspaceId, address)).map(({ type }) => type)).toEqual([
        "SuppressionAddressStored",
        "RecipientSuppressed",
        "RecipientUnsuppressed",
        "SuppressionAddressStored",
        "RecipientSuppressed",
      ]);
    });
  });

  describe("the list", () => {
    test("of a new workspace is empty", async () => {
      const { json } = await list(await service.tenant({ sender: null }));
      expect(json).toEqual({ data: [], next_cursor: null });
    });

    test("holds what was written through any instance, newest first, each once over its pages", async () => {
      const own = await service.tenant({ sender: null });
      const added: unknown[] = [];
      for (let index = 0; index < 5; index += 1)
        added.unshift((await add(own, { address: newAddress() })).json);
      const address = newAddress();
      await service.suppress(own.workspaceId, address);
      const all = await list(own);
      expect(all.json.next_cursor).toBeNull();
      expect(all.json.data.slice(1)).toEqual(added);
      expect(all.json.data[0]).toMatchObject({ address, reason: "bounce", note: null });
      expect(all.json.data[0].email_id).toMatch(/^[0-9a-f-]{36}$/);
      const paged: unknown[] = [];
      let query = "?limit=4";
      for (;;) {
        const { json } = await list(own, query);
        paged.push(...json.data);
        if (json.next_cursor === null) break;
        query = `?limit=4&cursor=${encodeURIComponent(json.next_cursor)}`;
      }
      expect(paged).toEqual(all.json.data);
    });

    test("is narrowed by reason and time", async () => {
      const own = await service.tenant({ sender: null });
      const { json: manual } = await add(own, { address: newAddress() });
      const bounced = newAddress();
      await service.suppress(own.workspaceId, bounced);
      const addresses = async (query: string) =>
        (await list(own, query)).json.data.map(({ address }: { address: string }) => address);
      expect(await addresses("?reason=manual")).toEqual([manual.address]);
      expect(await addresses("?reason=bounce")).toEqual([bounced]);
      const at = encodeURIComponent(manual.created_at);
      expect(await addresses(`?created_from=${at}`)).toContain(manual.address);
      expect(await addresses(`?created_before=${at}`)).toEqual([]);
      expect(
        await addresses(`?reason=manual&created_from=${at}&created_before=9999-12-31T00:00:00Z`),
      ).toEqual([manual.address]);
    });

    test.each([
      ["reason=other", "/reason"],
      ["limit=0", "/limit"],
      ["limit=101", "/limit"],
      ["cursor=abc", "/cursor"],
      ["created_from=yesterday", "/created_from"],
      ["created_before=2030-02-30T00:00:00Z", "/created_before"],
      ["address=a@example.com", "/address"],
    ])("refuses %s", async (query, pointer) => {
      const answer = await list(tenant, `?${query}`);
      expectProblem(answer, 400, "INVALID_REQUEST");
      expect(answer.json.errors[0].pointer).toStartWith(pointer);
    });
  });
});

describe.each(await testStores())("delivery and suppressions on $name", (store) => {
  /** What the relay says to RCPT. */
  let reply: { readonly code: number; readonly text: string } | undefined;
  const fixture = serviceWithRelay(store, {
    relay: { rcpt: () => reply },
    env: { DELIVERY_RETRY_BASE_MS: "50", DELIVERY_RETRY_MAX_MS: "100" },
  });

  const statusOf = async (id: string) =>
    (await fixture.tenant.call("GET", `/api/v1/emails/${id}`)).json.status;

  test(
    "a recipient that its own server refuses for good is suppressed until that is removed",
    async () => {
      const to = "Nobody@example.com";
      reply = { code: 550, text: "5.1.1 no such user" };
      const { json: email } = await fixture.tenant.send(newKey(), message({ to }));
      await until(async () => (await statusOf(email.id)) === "bounced", "the message to bounce");
      const { json } = await list(fixture.tenant);
      expect(json.data).toHaveLength(1);
      expect(json.data[0]).toMatchObject({ address: to, reason: "bounce", email_id: email.id, note: null });
      expect((await get(fixture.tenant, "nobody@example.com")).json).toEqual(json.data[0]);
      expect((await fixture.tenant.send(newKey(), message({ to }))).json.status).toBe("suppressed");

      reply = undefined;
      expect((await remove(fixture.tenant, to)).status).toBe(204);
      const { json: next } = await fixture.tenant.send(newKey(), message({ to }));
      expect(next.status).toBe("queued");
      await until(async () => (await statusOf(next.id)) === "sent", "the next message to be sent");
      expect(fixture.sink.record.messages.map((received) => received.to)).toEqual([[to]]);
    },
    DELIVERY_MS_MAX,
  );

  test(
    "a recipient that is suppressed between acceptance and delivery gets nothing",
    async () => {
      const to = "late@example.com";
      reply = { code: 450, text: "4.2.1 later" };
      const { json: email } = await fixture.tenant.send(newKey(), message({ to }));
      await until(async () => (await statusOf(email.id)) === "deferred", "the message to be deferred");
      await add(fixture.tenant, { address: to });
      await until(async () => (await statusOf(email.id)) === "suppressed", "the message to end");
      expect((await get(fixture.tenant, to)).json).toMatchObject({ reason: "manual", email_id: null });
      reply = undefined;
    },
    DELIVERY_MS_MAX,
  );

  test(
    "a refusal that says nothing of the address suppresses nobody",
    async () => {
      const to = "full@example.com";
      reply = { code: 552, text: "5.2.2 mailbox full" };
      const { json: email } = await fixture.tenant.send(newKey(), message({ to }));
      await until(async () => (await statusOf(email.id)) === "bounced", "the message to bounce");
      reply = undefined;
      expectProblem(await get(fixture.tenant, to), 404, "NOT_FOUND");
    },
    DELIVERY_MS_MAX,
  );
});
