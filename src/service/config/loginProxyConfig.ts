import { LOGIN_PROXY_SECRET_HEADER, type LoginProxy } from "../../http/dashboard/login/loginProxy.ts";
import { addressRanges } from "./addressRanges.ts";
import type { EnvironmentReader } from "./environmentReader.ts";

/** A name of a header (RFC 9110 §5.1). */
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}$/;
/** Headers that browsers, proxies or our own pages set for something else, so that they name nobody. */
const OTHER_MEANING =
  /^(?:accept|access-control|content|hx|if|postledger|proxy|sec)-|^(?:accept|authorization|cache-control|connection|cookie|date|expect|forwarded|host|idempotency-key|keep-alive|last-event-id|max-forwards|origin|pragma|priority|range|referer|te|trailer|transfer-encoding|upgrade|upgrade-insecure-requests|user-agent|via|x-forwarded-(?:for|host|port|prefix|proto|server)|x-real-ip|x-request-id|x-http-method-override)$/i;

/** Visible ASCII. */
const SECRET = /^[!-~]{16,200}$/;

/** A header from which we take who somebody is. */
function headerName(text: string): string | null {
  const isTaken = OTHER_MEANING.test(text) || text.toLowerCase() === LOGIN_PROXY_SECRET_HEADER.toLowerCase();
  return TOKEN.test(text) && !isTaken ? text : null;
}

/** Who may say in which header who somebody is; null: nobody. */
export function readLoginProxyConfig(reader: EnvironmentReader): { readonly loginProxy: LoginProxy | null } {
  const header = reader.parsed(
    "LOGIN_PROXY_HEADER",
    headerName,
    "the name of a header without another meaning, such as X-Forwarded-Email",
  );
  const ranges = addressRanges(reader, "LOGIN_PROXIES");
  const secret = reader.secret("LOGIN_PROXY_SECRET");
  const isSet = (name: string) => reader.list(name).length > 0;
  if (ranges.some(([, bits]) => bits === 0))
    reader.errors.push(
      "LOGIN_PROXIES must not hold a range of all addresses: anybody could log in as anybody",
    );
  if (isSet("LOGIN_PROXY_HEADER") !== isSet("LOGIN_PROXIES"))
    reader.errors.push(
      "LOGIN_PROXY_HEADER and LOGIN_PROXIES must be set together: the header that says who somebody is, and from which addresses it counts",
    );
  if (secret !== null && !SECRET.test(secret))
    reader.errors.push(
      `${reader.sourceOf("LOGIN_PROXY_SECRET")} must be 16 to 200 printable ASCII characters without spaces`,
    );
  if (secret !== null && !isSet("LOGIN_PROXY_HEADER"))
    reader.errors.push(`${reader.sourceOf("LOGIN_PROXY_SECRET")} must not be set without LOGIN_PROXY_HEADER`);
  return { loginProxy: header === null || ranges.length === 0 ? null : { header, ranges, secret } };
}
