import { X509Certificate } from "node:crypto";
import { DAY_MS } from "../../kernel/time.ts";
import type { Config } from "../config/config.ts";
import { type Check, failed, ok, warning } from "./check.ts";

/** An automatically renewed certificate is renewed earlier than this. */
const EXPIRES_SOON_DAYS = 14;

/** How long our SMTP certificates stay valid; none if there are none. */
export function certificateChecks({
  submission,
  inbound,
}: Pick<Config, "submission" | "inbound">): readonly Check[] {
  return [
    ...(submission?.tls ? [certificateCheck("submission", submission.tls.cert)] : []),
    ...(inbound?.tls ? [certificateCheck("inbound", inbound.tls.cert)] : []),
  ];
}

function certificateCheck(port: "submission" | "inbound", certificate: string): Check {
  const name = `${port} certificate`;
  const { validTo } = new X509Certificate(certificate);
  const days = Math.floor((Date.parse(validTo) - Date.now()) / DAY_MS);
  const renew = `renew the certificate in ${port.toUpperCase()}_TLS_CERT_FILE, then start the service again`;
  if (days < 0) return failed(name, `expired on ${validTo}`, renew);
  if (days < EXPIRES_SOON_DAYS) return warning(name, `expires in ${days} days, on ${validTo}`, renew);
  return ok(name, `valid until ${validTo}`);
}
