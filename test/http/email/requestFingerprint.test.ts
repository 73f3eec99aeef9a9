import { expect, test } from "bun:test";
import { requestFingerprint } from "../../../src/domain/email/idempotency.ts";
import { sendRequest } from "../../../src/http/email/sendEmailRequest.ts";
import type { SendEmailBody } from "../../../src/http/email/sendEmailSchema.ts";
import { instanceKeys } from "../../../src/kernel/crypto/instanceKeys.ts";

const keys = instanceKeys(new Uint8Array(32).fill(7));
const BASE = { from: "Shop@Example.com", to: "ana@example.org", subject: "Your order", text: "On its way." };
const FILE = { filename: "note.txt", content_type: "text/plain", content: "VGhhbmsgeW91Lgo=" };

function fingerprintOf(body: SendEmailBody): string {
  return requestFingerprint(keys, "0b7e2d3a-58c4-5f0e-9d0b-8a2f6c1e4d37", sendRequest(body).comparable);
}

/** Recorded before any of the optional fields was there: the log holds fingerprints for good. */
const RECORDED: readonly (readonly [about: string, body: SendEmailBody, fingerprint: string])[] = [
  ["text alone", BASE, "cea20ba56260f921dc5881b457b850f0b540e4909a5c43629f378b86b87f5092"],
  [
    "content, variables and files",
    {
      ...BASE,
      reply_to: "desk@example.com",
      html: "<p>Grüße 🎉</p>",
      metadata: { order: 17, vip: true, ref: "a" },
      variables: { name: "Ana", list: [1, { a: null }] },
      attachments: ["0192F8A1-7C1E-7B6E-9D55-0F3F4D1C2B3A", FILE],
    },
    "b7be405087f8cdbe56799899e433cf82d2115f6bf19fd8a25cb7bbe81780d9dd",
  ],
  [
    "a template",
    {
      from: BASE.from,
      to: BASE.to,
      template_id: "0192f8a1-7c1e-7b6e-9d55-0f3f4d1c2b3a",
      template_version_id: "0192f8a1-7c1e-7b6e-9d55-0f3f4d1c2b3b",
      attachments: [],
    },
    "2eb03e966229366ff957e27f7a64996f03b0691b9f5e6c51590d3ad14b46dffc",
  ],
];

test("a field that says when or how long is part of the fingerprint where it is given", () => {
  const given = [
    {},
    { deliver_before: "2030-01-01T00:00:00Z" },
    { deliver_before: "2030-01-01T00:00:01Z" },
    { content_retention: "until_final_status" as const },
  ];
  const fingerprints = given.map((parts) => fingerprintOf({ ...BASE, ...parts }));
  expect(new Set(fingerprints).size).toBe(given.length);
});

test.each(RECORDED)("a request of %s keeps its fingerprint", (_, body, recorded) => {
  expect(fingerprintOf(body)).toBe(recorded);
});
