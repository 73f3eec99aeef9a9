import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { BodyAdmissionControl } from "../../src/http/body/bodyAdmission.ts";
import { readJsonBody } from "../../src/http/body/jsonBody.ts";
import { type Described, described } from "../gate/documentedAnswers.ts";
import { rawCall } from "../support/servers/rawRequest.ts";
import { serviceFixture } from "../support/serviceFixture.ts";
import { sqliteStore } from "../support/stores/stores.ts";
import { keyHeaderFor, message, newKey } from "../support/tenants.ts";

/** For what does not depend on the store. */
const sqlite = [sqliteStore];

const BODY_BYTES_MAX = 16_000_000;
const TEMPLATE_BODY_BYTES_MAX = 2_000_000;
const EVENT_BYTES_MAX = 1_000_000;
const SMALL_BYTES_MAX = 65_536;
/** Endpoints that accept more than a small body. */
const LARGER: Readonly<Record<string, number>> = {
  "POST /api/v1/emails": BODY_BYTES_MAX,
  "POST /api/v1/attachments": BODY_BYTES_MAX,
  "POST /api/v1/emails/batch": BODY_BYTES_MAX,
  "POST /api/v1/feedback/postmark": EVENT_BYTES_MAX,
  "POST /feedback/ses": EVENT_BYTES_MAX,
  "POST /api/v1/templates/{id}/versions": TEMPLATE_BODY_BYTES_MAX,
  "POST /api/v1/templates/{id}/versions/{version_id}/preview": TEMPLATE_BODY_BYTES_MAX,
};
const reading = described.filter(({ operation }) => operation.requestBody !== undefined);
const bytesMaxOf = ({ method, path }: Described) => LARGER[`${method} ${path}`] ?? SMALL_BYTES_MAX;

describe.each(sqlite)("large bodies on $name", (store) => {
  const { service, tenant } = serviceFixture(store);

  const sent = async ({ method, path }: Described, headers: Readonly<Record<string, string>>, body = "") => {
    const answer = await rawCall(
      service.url,
      [method, path.replace(/\{[a-z_]+\}/g, () => crypto.randomUUID())],
      {
        Authorization: `Bearer ${tenant.apiKey}`,
        "Content-Type": "application/json",
        ...keyHeaderFor(path),
        ...headers,
      },
      body,
    );
    return { status: answer.status, ...(answer.text === "" ? {} : JSON.parse(answer.text)) };
  };

  test.each(reading)("$name reads no more than it can need, and says how much", async (one) => {
    const bytesMax = bytesMaxOf(one);
    expect(one.operation.requestBody?.description).toContain(`${bytesMax.toLocaleString("en")} bytes`);
    const announced = await sent(one, { "Content-Length": String(bytesMax + 1) });
    expect(announced).toMatchObject({ status: 413, code: "PAYLOAD_TOO_LARGE" });
    expect(announced.detail).toContain(`${bytesMax.toLocaleString("en")} bytes`);
    const fits = await sent(one, { "Content-Length": String(SMALL_BYTES_MAX) }, "{}".padEnd(SMALL_BYTES_MAX));
    expect(fits.code).not.toBe("PAYLOAD_TOO_LARGE");
  });

  test.each(reading.filter((one) => bytesMaxOf(one) === SMALL_BYTES_MAX))(
    "$name counts what says no length as it comes",
    async (one) => {
      const bytes = SMALL_BYTES_MAX + 1;
      const chunk = `${bytes.toString(16)}\r\n${" ".repeat(bytes)}\r\n0\r\n\r\n`;
      const answer = await sent(one, { "Transfer-Encoding": "chunked" }, chunk);
      expect(answer).toMatchObject({ status: 413, code: "PAYLOAD_TOO_LARGE" });
    },
  );

  test("with names of megabytes are reported without them", async () => {
    let body: Record<string, unknown> = { integer: 2 ** 60 };
    for (let depth = 0; depth < 25; depth += 1) body = { ["/~".repeat(100_000)]: body };
    const nested = await tenant.send(newKey(), body);
    expect(nested.json).toMatchObject({ status: 400, code: "INVALID_REQUEST" });
    const unknown = await tenant.send(newKey(), message({ ["x".repeat(5_000_000)]: 1 }));
    expect(unknown.json).toMatchObject({ status: 400, code: "INVALID_REQUEST" });
    for (const { text, json } of [nested, unknown]) {
      expect(text.length).toBeLessThan(5_000);
      expect(json.errors[0].pointer).toHaveLength(501);
    }
  });

  test("that the schema refuses are reported like small ones", async () => {
    const faulty = { from: 1, to: "ana", subject: "", variables: [], more: true };
    const small = await tenant.send(newKey(), faulty);
    const large = await tenant.send(newKey(), JSON.stringify(faulty).padEnd(2_000_000));
    expect(small.json.errors.length).toBeGreaterThan(4);
    expect(large.json).toEqual({ ...small.json, request_id: large.json.request_id });
  });
});

const read = (text: string) => {
  const bodies = new BodyAdmissionControl(BODY_BYTES_MAX);
  bodies.stop();
  const bytes = Buffer.from(text);
  const headers = { "content-length": String(bytes.length) };
  const request = new Request("http://localhost/", { method: "POST", headers, body: bytes });
  return readJsonBody(request, bodies.open("workspace"), BODY_BYTES_MAX);
};

test("quotes and backslashes end a text where JSON says, however many there are (property)", async () => {
  const part = fc.constantFrom('"', "\\", "[", "{", ",", "a", "/");
  const texts = fc.array(fc.array(part).map((parts) => parts.join("")));
  await fc.assert(
    fc.asyncProperty(texts, async (value) => {
      expect(await read(JSON.stringify(value))).toEqual(value);
    }),
  );
  // Brackets inside a string do not count; a thousand real ones would be too deep.
  const brackets = ['\\"'.repeat(1_000) + "[".repeat(2_000), `${"[".repeat(2_000)}\\`];
  expect(await read(JSON.stringify(brackets))).toEqual(brackets);
});
