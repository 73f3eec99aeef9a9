import { contentLengthOf } from "../body/bodyBytes.ts";
import { Problem } from "./problem.ts";

/**
 * Refuses what a proxy before us may have understood in another way (RFC 9112 §3.2, §6.3). Bun itself answers 400 to
 * Content-Lengths that differ, to one beside Transfer-Encoding, and to HTTP/1.1 without Host; of what is sent twice it
 * joins the values with a comma.
 */
export function checkFraming(headers: Headers): void {
  contentLengthOf(headers);
  const host = headers.get("host");
  if (host === null || /^[^\s,]+$/.test(host)) return;
  throw new Problem("INVALID_REQUEST", { detail: "the Host header must be sent once, and name a host" });
}
