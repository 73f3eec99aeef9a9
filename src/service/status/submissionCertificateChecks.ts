import { X509Certificate } from "node:crypto";
import { DAY_MS } from "../../kernel/time.ts";
import type { Config } from "../config/config.ts";
import { type Check, failed, ok, warning } from "./healthChecks.ts";

/** A certificate that is renewed by itself has been by then. */
const EXPIRES_SOON_DAYS = 14;

/** How long clients that submit mail over SMTP still trust our certificate; nothing where there is none. */
export function submissionCertificateChecks({ submission }: Pick<Config, "submission">): readonly Check[] {
  if (!submission?.tls) return [];
  const name = "submission certificate";
  const { validTo } = new X509Certificate(submission.tls.cert);
  const days = Math.floor((Date.parse(validTo) - Date.now()) / DAY_MS);
  const renew = "renew the certificate in SUBMISSION_TLS_CERT_FILE, then start the service again";
  if (days < 0) return [failed(name, `expired on ${validTo}`, renew)];
  if (days < EXPIRES_SOON_DAYS) return [warning(name, `expires in ${days} days, on ${validTo}`, renew)];
  return [ok(name, `valid until ${validTo}`)];
}
