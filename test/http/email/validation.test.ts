import { describe, expect, test } from "bun:test";
import { checkAnswer } from "../../gate/answerLog.ts";
import { expectProblem } from "../../support/expectProblem.ts";
import { acceptedEmail, acceptedId } from "../../support/mail/sentEmail.ts";
import type { Answer } from "../../support/service.ts";
import { serviceFixture } from "../../support/serviceFixture.ts";
import { sqliteStore, testStores } from "../../support/stores/stores.ts";
import { message, newKey } from "../../support/tenants.ts";

const EMOJI = "😀";
const BODY_BYTES_MAX = 16_000_000;
const PATH = "/api/v1/emails";
/** A refusal of anything, however large or deep, takes no more of the processor: not of the clock, for others may be at work too. */
const FAST_CPU_MS = 1_500;

/** Processor time of this process, which the service is part of, since `before`. */
function cpuMsSince(before: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000;
}

/** `a@` of exactly this many characters: as long a local part and a domain as RFC 5321 has them make up 320. */
function addressOfLength(characters: number): string {
  const local = "a".repeat(64);
  const domain = `${`${"b".repeat(63)}.`.repeat(4)}`.slice(0, characters - 65 - 4);
  return `${local}@${domain.replace(/\.$/, "b")}.com`;
}

/** Metadata whose compact JSON is this many bytes, with characters of two bytes in it. */
function metadataOfBytes(bytes: number): Record<string, string> {
  const metadata: Record<string, string> = { last: "" };
  const left = () => bytes - Buffer.byteLength(JSON.stringify(metadata));
  for (let index = 100; left() > 500; index += 1) metadata[`k${index}`] = "é".repeat(200);
  metadata.last = "x".repeat(left());
  return metadata;
}

/** Variables whose compact JSON is this many characters. */
function variablesOfLength(characters: number, character: string): { v: string } {
  return { v: character.repeat(characters - '{"v":""}'.length) };
}

/** A JSON text that nests `depth` levels inside the request's `variables`, which is the second level. */
function nested(depth: number): string {
  const levels = depth - 2;
  const value = `{"a":${"[".repeat(levels)}${"]".repeat(levels)}}`;
  return JSON.stringify(message({ variables: 0 })).replace('"variables":0', `"variables":${value}`);
}

/** The message as JSON text, with `members` of our own spelling in it. */
function withMembers(members: string): string {
  return JSON.stringify(message()).replace(/\}$/, `,${members}}`);
}

function chunked(bytes: Uint8Array): ReadableStream<Uint8Array> {
  let sent = 0;
  return new ReadableStream({
    pull(controller) {
      const next = bytes.subarray(sent, sent + 1_000_000);
      sent += next.length;
      if (next.length > 0) controller.enqueue(next);
      else controller.close();
    },
  });
}

describe("validating a send", () => {
  const { service, tenant } = serviceFixture(sqliteStore);

  const expectAccepted = (body: unknown) => acceptedId(tenant, body);
  const stored = (body: unknown) => acceptedEmail(tenant, body);

  const expectInvalid = async (body: unknown, pointer: string, messagePattern?: RegExp): Promise<Answer> => {
    const answer = await tenant.send(newKey(), body);
    expectProblem(answer, 400, "INVALID_REQUEST");
    expect(answer.json.errors.map((error: { pointer: string }) => error.pointer)).toContain(pointer);
    if (messagePattern) expect(JSON.stringify(answer.json.errors)).toMatch(messagePattern);
    return answer;
  };

  describe("limits, in code points", () => {
    const texts: readonly [string, number, (text: string) => Record<string, unknown>][] = [
      ["subject", 998, (subject) => message({ subject })],
      ["html", 500_000, (html) => message({ html })],
      ["text", 200_000, (text) => message({ text })],
      ["metadata/key", 500, (key) => message({ metadata: { key } })],
    ];
    for (const [name, max, make] of texts) {
      for (const character of ["a", EMOJI]) {
        test(`${name} of ${max} × ${character} is accepted`, async () => {
          await expectAccepted(make(character.repeat(max)));
        });
        test(`${name} of ${max + 1} × ${character} is refused`, async () => {
          await expectInvalid(make(character.repeat(max + 1)), `/${name}`);
        });
      }
    }

    test.each(["\0", "\n", "\u001b", "\u007f", "\u0085", "\u009b31m"])(
      "a subject with %j is refused",
      async (control) => {
        await expectInvalid(message({ subject: `a${control}b` }), "/subject", /no other control character/);
      },
    );

    test("a right-to-left subject may set the direction of what stands in it", async () => {
      await expectAccepted(message({ subject: "הזמנה \u2068Example\u2069 \u200f4711,\t\u202bשלום\u202c" }));
    });

    test("a subject of one character is accepted, an empty one refused", async () => {
      await expectAccepted(message({ subject: EMOJI }));
      await expectInvalid(message({ subject: "" }), "/subject", /1 to 998 characters/);
    });

    for (const character of ["k", EMOJI]) {
      test(`a metadata key of 80 × ${character} is accepted, 81 refused`, async () => {
        await expectAccepted(message({ metadata: { [character.repeat(80)]: 1 } }));
        await expectInvalid(message({ metadata: { [character.repeat(81)]: 1 } }), "/metadata", /80/);
      });
    }

    test("metadata of 16,000 encoded bytes is accepted, one more refused", async () => {
      const metadata = metadataOfBytes(16_000);
      expect(Buffer.byteLength(JSON.stringify(metadata))).toBe(16_000);
      await expectAccepted(message({ metadata }));
      await expectInvalid(message({ metadata: metadataOfBytes(16_001) }), "/metadata", /16,000/);
    });

    for (const character of ["v", EMOJI]) {
      test(`variables of 100,000 characters of ${character} are accepted, one more refused`, async () => {
        await expectAccepted(message({ variables: variablesOfLength(100_000, character) }));
        await expectInvalid(message({ variables: variablesOfLength(100_001, character) }), "/variables");
      });
    }

    test("variables are measured as compact JSON, whatever white space they came in", async () => {
      const variables = JSON.stringify(variablesOfLength(100_000, "v")).replace(
        ":",
        `:${" ".repeat(10_000)}`,
      );
      await expectAccepted(withMembers(`"variables":${variables}`));
    });

    for (const field of ["to", "reply_to"]) {
      test(`${field} of 320 characters is accepted, 321 refused`, async () => {
        expect(addressOfLength(320)).toHaveLength(320);
        await expectAccepted(message({ [field]: addressOfLength(320) }));
        await expectInvalid(
          message({ [field]: addressOfLength(321) }),
          `/${field}`,
          /at most 320 characters/,
        );
      });
    }

    test("from of 320 characters is accepted, 321 refused", async () => {
      const own = await service.tenant({ sender: addressOfLength(320) });
      expect((await own.send(newKey(), message({ from: addressOfLength(320) }))).status).toBe(202);
      await expectInvalid(message({ from: addressOfLength(321) }), "/from", /at most 320 characters/);
    });

    test("the length of an address is counted in code points", async () => {
      // Refused all the same, but for what it is: it is under 320 characters.
      await expectInvalid(message({ to: `${EMOJI.repeat(161)}@example.com` }), "/to", /local part/);
    });
  });

  describe("the Idempotency-Key", () => {
    const withKey = (key: string | null) =>
      tenant.call("POST", PATH, { body: message(), headers: { "idempotency-key": key } });
    for (const length of [8, 200]) {
      test(`of ${length} characters is accepted`, async () => {
        expect((await withKey(newKey().slice(-8).padStart(length, "~"))).status).toBe(202);
      });
    }
    test("may hold every printable character", async () => {
      expect((await withKey("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~ aA0")).status).toBe(202);
    });
    const bad: readonly [string, string | null][] = [
      ["missing", null],
      ["empty", ""],
      ["of 7 characters", "1234567"],
      ["of 201 characters", "k".repeat(201)],
      ["of 7 characters and white space", "1234567   "],
      ["with a character outside ASCII", "clé-de-répétition"],
      ["with a tab inside", "1234\t5678"],
    ];
    for (const [what, key] of bad) {
      test(`${what} is IDEMPOTENCY_KEY_REQUIRED`, async () => {
        expectProblem(await withKey(key), 400, "IDEMPOTENCY_KEY_REQUIRED");
      });
    }
  });

  describe("the body on the wire", () => {
    const bodyOfBytes = (bytes: number) =>
      Buffer.from(JSON.stringify(message({ text: "é" })).padEnd(bytes - 1));
    const post = async (body: Uint8Array | ReadableStream<Uint8Array>) => {
      const headers = {
        authorization: `Bearer ${tenant.apiKey}`,
        "idempotency-key": newKey(),
        "content-type": "application/json",
      };
      const response = await fetch(service.url + PATH, { method: "POST", headers, body });
      const text = await response.text();
      checkAnswer(service.url, "POST", PATH, { status: response.status, headers: response.headers, text });
      return { status: response.status, json: JSON.parse(text) as Answer["json"] };
    };
    const encodings: readonly [string, (bytes: Uint8Array) => Uint8Array | ReadableStream<Uint8Array>][] = [
      ["with a Content-Length", (bytes) => bytes],
      ["in chunks", chunked],
    ];
    for (const [how, send] of encodings) {
      test(`of 16,000,000 bytes ${how} is accepted`, async () => {
        const body = bodyOfBytes(BODY_BYTES_MAX);
        expect(body).toHaveLength(BODY_BYTES_MAX);
        expect((await post(send(body))).status).toBe(202);
      });
      for (const bytes of [BODY_BYTES_MAX + 1, 70_000_000]) {
        test(`of ${bytes} bytes ${how} is PAYLOAD_TOO_LARGE`, async () => {
          const { status, json } = await post(send(bodyOfBytes(bytes)));
          expect({ status, code: json.code }).toEqual({ status: 413, code: "PAYLOAD_TOO_LARGE" });
        });
      }
    }

    for (const encoding of ["gzip", "br", "GZIP", "identity, gzip"]) {
      test(`with Content-Encoding ${encoding} is refused`, async () => {
        const answer = await tenant.call("POST", PATH, {
          body: Bun.gzipSync(Buffer.from(JSON.stringify(message()))),
          headers: {
            "idempotency-key": newKey(),
            "content-encoding": encoding,
            "content-type": "application/json",
          },
        });
        expectProblem(answer, 400, "INVALID_REQUEST");
        expect(answer.json.detail).toContain("Content-Encoding");
      });
    }
  });

  describe("the Content-Type", () => {
    const sendAs = (contentType: string | null) =>
      tenant.call("POST", PATH, {
        body: Buffer.from(JSON.stringify(message())),
        headers: { "idempotency-key": newKey(), "content-type": contentType },
      });
    for (const type of [
      "application/json",
      "application/json; charset=utf-8",
      "application/json;charset=UTF-8",
      "Application/JSON",
    ]) {
      test(`as ${type} is accepted`, async () => {
        expect((await sendAs(type)).status).toBe(202);
      });
    }
    for (const type of [
      null,
      "text/plain",
      "text/json",
      "application/jsonp",
      "application/json-patch+json",
      "application/x-www-form-urlencoded",
      "multipart/form-data; boundary=x",
      "application/octet-stream",
    ]) {
      test(`as ${type ?? "nothing"} is refused with 400`, async () => {
        const answer = await sendAs(type);
        expectProblem(answer, 400, "INVALID_REQUEST");
        expect(answer.json.detail).toContain("application/json");
      });
    }
  });

  describe("a body that is no JSON object", () => {
    for (const text of [
      "",
      " ",
      "{",
      "nul",
      "NaN",
      "{'from':1}",
      `${JSON.stringify(message())}x`,
      "null",
      "0",
      "false",
      '""',
      '"text"',
      "42",
      "[]",
      "[1]",
    ]) {
      test(`namely ${JSON.stringify(text).slice(0, 20)} is refused as a whole`, async () => {
        await expectInvalid(Buffer.from(text), "");
      });
    }

    const badUtf8: readonly [string, readonly number[]][] = [
      ["a byte that is never UTF-8", [0xff]],
      ["a sequence that was cut", [0xe2, 0x82]],
      ["an overlong sequence", [0xc0, 0xaf]],
      ["a surrogate", [0xed, 0xa0, 0x80]],
    ];
    for (const [what, bytes] of badUtf8) {
      test(`with ${what} is refused`, async () => {
        const [before = "", after = ""] = JSON.stringify(message({ text: "a|b" })).split("|");
        const body = Buffer.concat([Buffer.from(before), Buffer.from(bytes), Buffer.from(after)]);
        await expectInvalid(body, "", /UTF-8/);
      });
    }
  });

  describe("fields", () => {
    const missing = (name: string) => {
      const { [name]: _, ...rest } = message();
      return rest;
    };
    const refused: readonly [string, unknown, string][] = [
      ["without from", missing("from"), "/from"],
      ["without to", missing("to"), "/to"],
      ["without subject", missing("subject"), "/subject"],
      ["with neither html nor text", missing("text"), "/html"],
      ["with html and text empty", message({ html: "", text: "" }), "/html"],
      ["with html null", message({ html: null }), "/html"],
      ["with text null", message({ text: null }), "/text"],
      ["with subject null", message({ subject: null }), "/subject"],
      ["with reply_to null", message({ reply_to: null }), "/reply_to"],
      ["with reply_to empty", message({ reply_to: "" }), "/reply_to"],
      ["with template_id null", message({ template_id: null }), "/template_id"],
      ["with metadata null", message({ metadata: null }), "/metadata"],
      ["with variables null", message({ variables: null }), "/variables"],
      ["with attachments null", message({ attachments: null }), "/attachments"],
      ["with subject a number", message({ subject: 1 }), "/subject"],
      ["with to a list", message({ to: ["ana@example.com"] }), "/to"],
      ["with to an object", message({ to: { email: "ana@example.com" } }), "/to"],
      ["with metadata a list", message({ metadata: [] }), "/metadata"],
      ["with variables a list", message({ variables: [] }), "/variables"],
      ["with a metadata value null", message({ metadata: { a: null } }), "/metadata/a"],
      ["with a metadata value that is an object", message({ metadata: { a: {} } }), "/metadata/a"],
      ["with a metadata value that is a list", message({ metadata: { a: [] } }), "/metadata/a"],
      ["with attachments an object", message({ attachments: {} }), "/attachments"],
      ["with an attachment that is no uuid", message({ attachments: ["x"] }), "/attachments/0"],
      [
        "with an attachment without content",
        message({ attachments: [{ filename: "a.pdf" }] }),
        "/attachments/0/content",
      ],
      ["with template_id that is no uuid", message({ template_id: "welcome" }), "/template_id"],
      [
        "with template_version_id alone",
        message({ template_version_id: crypto.randomUUID() }),
        "/template_version_id",
      ],
      ["with an unknown field", message({ bcc: "eve@example.com" }), "/bcc"],
      ["with an unknown field that has a / in its name", message({ "a/b~c": 1 }), "/a~1b~0c"],
    ];
    for (const [what, body, pointer] of refused) {
      test(`${what} are refused at ${pointer}`, async () => {
        await expectInvalid(body, pointer);
      });
    }

    const accepted: readonly [string, unknown][] = [
      ["with html alone", { ...missing("text"), html: "<p>Hi</p>" }],
      ["with html empty beside text", message({ html: "" })],
      ["with text empty beside html", message({ html: "<p>Hi</p>", text: "" })],
      ["with attachments empty", message({ attachments: [] })],
      [
        "with metadata of every kind of value",
        message({ metadata: { s: "", n: -0.5, z: 0, t: true, f: false } }),
      ],
      ["with variables of every kind", message({ variables: { n: null, l: [1, [{}]], o: { a: "" } } })],
    ];
    for (const [what, body] of accepted) {
      test(`${what} are accepted`, async () => {
        await expectAccepted(body);
      });
    }

    test("that are wrong are all named", async () => {
      const answer = await expectInvalid({ ...message(), from: 1, subject: "", cc: 1, bcc: 2 }, "/from");
      const pointers = answer.json.errors.map((error: { pointer: string }) => error.pointer).sort();
      expect(pointers).toEqual(["/bcc", "/cc", "/from", "/subject"]);
    });

    test("of which a crowd is wrong are answered shortly", async () => {
      const unknownFields = Object.fromEntries(
        Array.from({ length: 90_000 }, (_, index) => [`f${index}`, index]),
      );
      const before = process.cpuUsage();
      const answer = await tenant.send(newKey(), { ...message(), ...unknownFields });
      expect(cpuMsSince(before)).toBeLessThan(FAST_CPU_MS);
      expectProblem(answer, 400, "INVALID_REQUEST");
      expect(answer.json.errors).toHaveLength(20);
    });

    for (const spelling of ["lower", "upper"] as const) {
      test(`with uuids in ${spelling} case are understood`, async () => {
        const id = "0b7c1f9e-5d3a-4c2b-8e1f-a9d8c7b6e5f4";
        const template_id = spelling === "upper" ? id.toUpperCase() : id;
        const parts = { template_id, template_version_id: template_id, subject: undefined };
        expectProblem(await tenant.send(newKey(), message(parts)), 422, "TEMPLATE_UNAVAILABLE");
        const attached = await tenant.send(newKey(), message({ attachments: [template_id] }));
        expectProblem(attached, 400, "INVALID_REQUEST");
        expect(attached.json.errors).toEqual([
          { pointer: "/attachments/0", message: "is not an upload of this workspace" },
        ]);
      });
    }

    test("that a template makes useless are checked all the same", async () => {
      const template_id = crypto.randomUUID();
      await expectInvalid(message({ template_id, subject: "s".repeat(999) }), "/subject");
      await expectInvalid(message({ template_id, subject: "a\u009b31mb" }), "/subject");
    });
  });

  describe("JSON that others would read otherwise", () => {
    const refused: readonly [string, string, string][] = [
      ["a lone surrogate", '"reply_to":"\\ud800"', "/reply_to"],
      ["a lone low surrogate", '"html":"a\\udc00b"', "/html"],
      ["surrogates in the wrong order", '"html":"\\udc00\\ud800"', "/html"],
      ["a lone surrogate deep down", '"variables":{"a":[0,{"b":"\\udfff"}]}', "/variables/a/1/b"],
      ["a lone surrogate in a name", '"metadata":{"x\\ud800":1}', "/metadata/x\ufffd"],
      ["an integer over 2^53 - 1", '"metadata":{"n":9007199254740992}', "/metadata/n"],
      ["an integer under -(2^53 - 1)", '"metadata":{"n":-9007199254740993}', "/metadata/n"],
      ["an integer of thirty digits", `"variables":{"l":[${"9".repeat(30)}]}`, "/variables/l/0"],
      ["a number that is infinite", '"metadata":{"n":1e999}', "/metadata/n"],
      ["a number that is minus infinite", '"variables":{"a~b":{"c/d":-1e999}}', "/variables/a~0b/c~1d"],
    ];
    for (const [what, members, pointer] of refused) {
      test(`${what} is refused at ${pointer}`, async () => {
        await expectInvalid(withMembers(members), pointer);
      });
    }

    test("32 levels are accepted, the 33rd is refused by its pointer", async () => {
      await expectAccepted(nested(32));
      await expectInvalid(nested(33), `/variables/a${"/0".repeat(30)}`, /32 levels/);
    });

    for (const [what, open, close] of [
      ["lists", "[", "]"],
      ["objects", '{"a":', "}"],
    ] as const) {
      test(`100,000 levels of ${what} are refused fast`, async () => {
        const depth = 100_000;
        const body = withMembers(`"variables":{"v":${open.repeat(depth)}1${close.repeat(depth)}}`);
        const before = process.cpuUsage();
        await expectInvalid(body, "", /nested deeper/);
        expect(cpuMsSince(before)).toBeLessThan(FAST_CPU_MS);
      });
    }

    test("millions of values are refused fast", async () => {
      const body = withMembers(`"attachments":[${"1,".repeat(5_000_000)}1]`);
      const before = process.cpuUsage();
      await expectInvalid(body, "", /holds more than 100000 values/);
      expect(cpuMsSince(before)).toBeLessThan(FAST_CPU_MS);
    });

    test("brackets inside strings are no depth", async () => {
      await expectAccepted(message({ text: `${"[{".repeat(5_000)}\\"[` }));
    });

    for (const variables of ['{"toString":1}', '[{"toString":null}]', '{"valueOf":2,"then":3,"toJSON":4}']) {
      test(`${variables} in place of text is refused as any other object`, async () => {
        await expectInvalid(withMembers(`"subject":${variables}`), "/subject");
        await expectInvalid(withMembers(`"metadata":{"a":${variables}}`), "/metadata/a");
      });
    }
    test("a string goes on after an escaped quote, and ends after an escaped backslash", async () => {
      for (const start of ['"', '\\"', '""', '\\\\"\\', "\\"]) {
        await expectAccepted(message({ text: `${start}${"[".repeat(5_000)}` }));
        const deep = `"variables":{"v":${"[".repeat(5_000)}${"]".repeat(5_000)}}`;
        const ends = JSON.stringify(message({ text: `${start}\\` })).replace(/}$/, `,${deep}}`);
        await expectInvalid(ends, "", /nested deeper/);
      }
    });

    test("a field named __proto__ is an unknown field", async () => {
      await expectInvalid(withMembers('"__proto__":{"from":"x"}'), "/__proto__");
    });

    test("metadata named __proto__ obeys the rules of metadata", async () => {
      await expectInvalid(withMembers('"metadata":{"__proto__":{"polluted":true}}'), "/metadata/__proto__");
      expect(({} as Record<string, unknown>).polluted).toBeUndefined();
    });

    for (const name of ["a\nb", "\r", "\u2028", ""]) {
      test(`metadata named ${JSON.stringify(name)} obeys the rules of metadata`, async () => {
        await expectInvalid(message({ metadata: { [name]: { a: 1 } } }), `/metadata/${name}`);
        await expectInvalid(message({ metadata: { [name]: "v".repeat(501) } }), `/metadata/${name}`);
        await expectAccepted(message({ metadata: { [name]: "v" } }));
      });
    }
  });

  describe("what goes into headers", () => {
    for (const [name, character] of [
      ["CR", "\r"],
      ["LF", "\n"],
      ["CR LF", "\r\n"],
      ["NUL", "\0"],
    ] as const) {
      for (const field of ["from", "to", "reply_to", "subject"]) {
        test(`${field} with ${name} is refused`, async () => {
          const text = field === "subject" ? "Hello" : "ana@example.com";
          for (const value of [
            `${text}${character}Bcc: eve@example.com`,
            `${character}${text}`,
            text + character,
          ]) {
            await expectInvalid(message({ [field]: value }), `/${field}`);
          }
        });
      }
    }
  });

  describe("addresses", () => {
    const unknownFields = [
      "",
      " ",
      "ana",
      "@example.com",
      "ana@",
      "ana@@example.com",
      "ana@bob@example.com",
      "Ana <ana@example.com>",
      "<ana@example.com>",
      '"Ana" <ana@example.com>',
      "ana@example.com, bob@example.com",
      "ana@example.com,bob@example.com",
      "ana@example.com;bob@example.com",
      "ana@example.com bob@example.com",
      '"ana b"@example.com',
      '"ana"@example.com',
      "ana(comment)@example.com",
      "ana@example.com(comment)",
      "mailto:ana@example.com",
      " ana@example.com",
      "ana@example.com ",
      "ana\t@example.com",
      ".ana@example.com",
      "ana.@example.com",
      "an..a@example.com",
      "añá@example.com",
      `${"a".repeat(65)}@example.com`,
      "ana@example",
      "ana@localhost",
      "ana@.example.com",
      "ana@example.com.",
      "ana@example..com",
      "ana@-example.com",
      "ana@example-.com",
      "ana@exa_mple.com",
      "ana@exa mple.com",
      `ana@${"b".repeat(64)}.com`,
      "ana@[127.0.0.1]",
      "ana@[IPv6:::1]",
      "ana@127.0.0.1",
      "ana@2130706433",
      "ana@0x7f.1",
      "ana@①②⑦.0.0.1",
      "ana@::1",
      "ana@example.com:25",
      "ana@example.com/path",
      "ana@example.com?query",
      "ana@example.com#fragment",
      "ana@ex%61mple.com",
      "ana@example.com\\@evil.example",
      "ana@xn--a.com",
      "ana＠example.com",
    ];
    for (const address of unknownFields) {
      test(`${JSON.stringify(address).slice(0, 50)} is refused as to, and as reply_to`, async () => {
        await expectInvalid(message({ to: address }), "/to");
        await expectInvalid(message({ reply_to: address }), "/reply_to");
      });
    }

    const right: readonly [string, string][] = [
      ["ana@example.com", "ana@example.com"],
      ["Ana.Lima+tag@Example.COM", "Ana.Lima+tag@example.com"],
      ["!#$%&'*+/=?^_`{|}~-@example.com", "!#$%&'*+/=?^_`{|}~-@example.com"],
      ["ana@sub.domain.example.co.uk", "ana@sub.domain.example.co.uk"],
      ["ana@123.example", "ana@123.example"],
      ["ana@xn--bcher-kva.example", "ana@xn--bcher-kva.example"],
      ["ana@bücher.example", "ana@xn--bcher-kva.example"],
      ["ana@BÜCHER.example", "ana@xn--bcher-kva.example"],
      ["ana@faß.example", "ana@xn--fa-hia.example"],
      ["ana@例え。テスト", "ana@xn--r8jz45g.xn--zckzah"],
      [`${"a".repeat(64)}@example.com`, `${"a".repeat(64)}@example.com`],
    ];
    for (const [address, sent] of right) {
      test(`${address.slice(0, 40)} is accepted, with its domain in ASCII`, async () => {
        expect(await stored(message({ to: address, reply_to: address }))).toMatchObject({
          to: sent,
          reply_to: sent,
        });
      });
    }
  });

  describe("a refusal", () => {
    const FIELDS = ["code", "detail", "errors", "request_id", "retryable", "status", "title", "type"];

    test("is a problem (RFC 9457) with exactly our fields", async () => {
      const answer = await expectInvalid(message({ to: "nobody" }), "/to");
      expect(answer.headers.get("content-type")).toBe("application/problem+json");
      expect(Object.keys(answer.json).sort()).toEqual(FIELDS);
      expect(answer.json).toMatchObject({ status: 400, retryable: false });
      expect(answer.json.type).toMatch(/^urn:|^https:/);
      expect(answer.json.title).not.toBe("");
      for (const error of answer.json.errors)
        expect(Object.keys(error).sort()).toEqual(["message", "pointer"]);
    });

    for (const [what, path, headers, status] of [
      ["without a key", PATH, { authorization: null }, 401],
      ["without an Idempotency-Key", PATH, {}, 400],
      ["of an unknown path", "/nothing", {}, 404],
    ] as const) {
      test(`${what} has the same fields, and its request id in x-request-id`, async () => {
        const answer = await tenant.call("POST", path, { body: message(), headers });
        expect(answer.status).toBe(status);
        expect(answer.headers.get("content-type")).toBe("application/problem+json");
        expect(Object.keys(answer.json).sort()).toEqual(FIELDS);
        expect(answer.json.request_id).toBe(answer.headers.get("x-request-id"));
        expect(answer.json.request_id).toMatch(/^[0-9a-z]{20}$/);
      });
    }

    test("echoes no credential and no content", async () => {
      const secret = `${tenant.apiKey.slice(0, -1)}_`;
      const answers = [
        await tenant.call("POST", PATH, { body: message(), headers: { authorization: `Bearer ${secret}` } }),
        await tenant.send(newKey(), message({ to: "private.person" })),
        await tenant.send(newKey(), message({ subject: "private\nperson" })),
        await tenant.send("private", message()),
      ];
      for (const { status, text } of answers) {
        expect(status).toBeWithin(400, 500);
        expect(text).not.toContain(secret);
        expect(text).not.toContain("private");
      }
    });

    test("has a request id of its own each time", async () => {
      const ids = await Promise.all(
        Array.from({ length: 20 }, async () => (await tenant.call("GET", "/nothing")).json.request_id),
      );
      expect(new Set(ids).size).toBe(20);
    });
  });
});

describe.each(await testStores())("a message that is as much as a send may be, on $name", (store) => {
  const { tenant } = serviceFixture(store);
  const stored = (body: unknown) => acceptedEmail(tenant, body);

  test("comes back as it was sent", async () => {
    const parts = {
      subject: EMOJI.repeat(998),
      html: EMOJI.repeat(500_000),
      text: EMOJI.repeat(200_000),
      metadata: metadataOfBytes(16_000),
    };
    const variables = variablesOfLength(100_000, EMOJI);
    expect(await stored(message({ ...parts, variables }))).toMatchObject(parts);
  });

  test("has numbers at the edge of what is exact as they are", async () => {
    const { metadata } = await stored(withMembers('"metadata":{"a":9007199254740991,"b":-9007199254740991}'));
    expect(metadata).toEqual({ a: 9007199254740991, b: -9007199254740991 });
  });

  test("has metadata named __proto__ as any other, and nothing inherits from it", async () => {
    const { metadata } = await stored(withMembers('"metadata":{"__proto__":"a","constructor":"b"}'));
    expect(Object.entries(metadata)).toEqual([
      ["__proto__", "a"],
      ["constructor", "b"],
    ]);
    expect(({} as Record<string, unknown>).a).toBeUndefined();
  });
});
