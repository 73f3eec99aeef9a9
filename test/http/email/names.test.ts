import { describe, expect, test } from "bun:test";
import { acceptedEmail, faultsIn } from "../../support/mail/sentEmail.ts";
import { serviceFixture } from "../../support/serviceFixture.ts";
import { sqliteStore, testStores } from "../../support/stores/stores.ts";
import { message, newKey, SENDER } from "../../support/tenants.ts";

const PATH = "/api/v1/emails";
const NAMES = { from_name: "Bücher & Mehr", to_name: "Ana 👩‍💻 山田", reply_to_name: 'Desk, "the" <one>' };
const REPLY_TO = "desk@example.com";

describe.each(await testStores())("names beside addresses on $name", (store) => {
  const { service, tenant } = serviceFixture(store);

  const send = (parts: Record<string, unknown>, key = newKey()) => tenant.send(key, message(parts));
  const stored = (parts: Record<string, unknown>) => acceptedEmail(tenant, message(parts));

  test("are kept as they were sent, and go with the content", async () => {
    const email = await stored({ ...NAMES, reply_to: REPLY_TO });
    expect(email).toMatchObject({ ...NAMES, from: SENDER, reply_to: REPLY_TO });
    const erased = await tenant.call("DELETE", `${PATH}/${email.id}/content`);
    expect(erased.json).toMatchObject({ from_name: null, to_name: null, reply_to_name: null });
    const left = JSON.stringify(await service.log.store.read(`email-${email.id}`, 0, 100));
    for (const name of Object.values(NAMES)) expect(left).not.toContain(JSON.stringify(name).slice(1, -1));
  });

  test("are part of what a repeat is compared by", async () => {
    const key = newKey();
    const { json } = await send({ to_name: "Ana" }, key);
    expect((await send({ to_name: "Ana" }, key)).json).toEqual(json);
    for (const other of [{}, { to_name: "ana" }, { to_name: "Ana", from_name: "Ana" }])
      expect((await send(other, key)).json.code).toBe("IDEMPOTENCY_CONFLICT");
  });

  test("the sender's own stands there where the send gives none", async () => {
    const named = "named@example.com";
    const name = { address: named, display_name: "The Shop" };
    await tenant.call("POST", "/api/v1/senders", { body: name });
    await service.addSenderEvent(tenant.workspaceId, named, {
      type: "SenderVerified",
      data: { method: "operator" },
    });
    expect(await stored({ from: named })).toMatchObject({ from_name: "The Shop" });
    expect(await stored({ from: named, from_name: "Ana of the Shop" })).toMatchObject({
      from_name: "Ana of the Shop",
    });
  });

  test("do not keep a suppressed recipient from being suppressed", async () => {
    await tenant.call("POST", "/api/v1/suppressions", { body: { address: "gone@example.com" } });
    const { json } = await send({ to: "gone@example.com", to_name: "Somebody else" });
    expect(json.status).toBe("suppressed");
  });
});

describe("names beside addresses", () => {
  const { tenant } = serviceFixture(sqliteStore);
  const faultsOf = async (parts: Record<string, unknown>) =>
    faultsIn(await tenant.send(newKey(), message(parts)));

  test("of 255 characters are accepted, of 256 refused", async () => {
    await acceptedEmail(tenant, message({ to_name: "🎩".repeat(255) }));
    for (const member of Object.keys(NAMES)) {
      const parts = { reply_to: REPLY_TO, [member]: "é".repeat(256) };
      expect(await faultsOf(parts)).toEqual([
        { pointer: `/${member}`, message: "must have 1 to 255 characters" },
      ]);
    }
  });

  for (const [what, name] of [
    ["nothing", ""],
    ["blanks", "  "],
    ["a CR LF", "Ana\r\nBcc: eve@example.com"],
    ["a CR", "Ana\rBcc: eve@example.com"],
    ["an LF", "Ana\nBcc: eve@example.com"],
    ["a NUL", "Ana\0"],
    ["a turn of the text's direction", "Ana\u202emoc"],
    ["a character that cannot be seen", "Pay\u200bPal"],
    ["null", null],
    ["a number", 7],
  ] as const) {
    test(`of ${what} are refused`, async () => {
      for (const member of Object.keys(NAMES)) {
        const [fault] = await faultsOf({ reply_to: REPLY_TO, [member]: name });
        expect(fault?.pointer).toBe(`/${member}`);
      }
    });
  }

  test("a name for replies needs an address for them", async () => {
    expect(await faultsOf({ reply_to_name: "Desk" })).toEqual([
      { pointer: "/reply_to_name", message: "requires reply_to" },
    ]);
  });

  for (const member of ["from", "to", "reply_to"]) {
    test(`${member} with a name next to its address is answered with the field for the name`, async () => {
      for (const address of ["Ana <ana@example.com>", '"Ana" <ana@example.com>', "<ana@example.com>"]) {
        expect(await faultsOf({ [member]: address })).toEqual([
          {
            pointer: `/${member}`,
            message: `must be one bare address such as ana@example.com: the name goes into ${member}_name`,
          },
        ]);
      }
    });
  }
});
