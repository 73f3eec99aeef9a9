import { X509Certificate } from "node:crypto";
import { reasonOf } from "../../../kernel/text/errorReason.ts";
import { DAY_MS } from "../../../kernel/time.ts";
import type { Config } from "../../config/config.ts";
import { type ConfiguredTls, loadTlsFiles } from "../../config/mail/tlsFiles.ts";
import { type Check, failed, ok, warning } from "./check.ts";

/** An automatically renewed certificate is renewed earlier than this. */
const EXPIRES_SOON_DAYS = 14;

/** How long our SMTP certificates stay valid; none if there are none. */
export function certificateChecks({
  submission,
  inbound,
}: Pick<Config, "submission" | "inbound">): readonly Check[] {
  return [
    ...(submission?.tls ? [certificateCheck("submission", submission.tls)] : []),
    ...(inbound?.tls ? [certificateCheck("inbound", inbound.tls)] : []),
  ];
}

/** Looks at the files: a service uses what they hold for its next connection. */
function certificateCheck(port: "submission" | "inbound", files: ConfiguredTls): Check {
  const name = `${port} certificate`;
  const [certSetting, keySetting] = ["CERT", "KEY"].map((part) => `${port.toUpperCase()}_TLS_${part}_FILE`);
  let cert: string;
  try {
    ({ cert } = loadTlsFiles(files));
  } catch (error) {
    const detail = `its files cannot be used, so a running service keeps the pair before: ${reasonOf(error)}`;
    return failed(name, detail, `put a certificate and its key into ${certSetting} and ${keySetting}`);
  }
  const { validTo } = new X509Certificate(cert);
  const days = Math.floor((Date.parse(validTo) - Date.now()) / DAY_MS);
  const renew = `renew the certificate in ${certSetting}; a running service then uses it without a restart`;
  if (days < 0) return failed(name, `expired on ${validTo}`, renew);
  if (days < EXPIRES_SOON_DAYS) return warning(name, `expires in ${days} days, on ${validTo}`, renew);
  return ok(name, `valid until ${validTo}`);
}
