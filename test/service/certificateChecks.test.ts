import { afterEach, expect, setSystemTime, test } from "bun:test";
import { certificateChecks } from "../../src/service/status/certificateChecks.ts";
import { RECEIVER_CERTIFICATE, RECEIVER_KEY } from "../support/webhook/receiverCertificate.ts";

const TLS = { cert: RECEIVER_CERTIFICATE, key: RECEIVER_KEY, isImplicit: false };
const SUBMISSION = { host: "127.0.0.1", port: 587 };

afterEach(() => void setSystemTime());

test.each([
  ["2126-10-01T00:00:00Z", "ok", "valid until"],
  ["2126-10-20T00:00:00Z", "warning", "expires in 8 days"],
  ["2126-11-01T00:00:00Z", "failed", "expired on"],
])("at %s the certificate is %s", (at, status, detail) => {
  setSystemTime(new Date(at));
  const [check] = certificateChecks({ submission: { ...SUBMISSION, tls: TLS }, inbound: null });
  expect(check).toMatchObject({
    name: "submission certificate",
    status,
    detail: expect.stringContaining(detail),
  });
});

test("there is nothing to say without one", () => {
  expect(certificateChecks({ submission: null, inbound: null })).toEqual([]);
  expect(certificateChecks({ submission: { ...SUBMISSION, tls: null }, inbound: null })).toEqual([]);
});
