/**
 * Whether a request that changes something was made by a page of this service. Browsers say so in Sec-Fetch-Site, and
 * older ones in Origin; a client that says neither is no browser, and what it sends carries a token all the same.
 */
export function isFromOwnPage(request: Request, ownHost: string): boolean {
  const site = request.headers.get("sec-fetch-site");
  if (site !== null) return site === "same-origin";
  const origin = request.headers.get("origin");
  if (origin === null) return true;
  const host = URL.canParse(origin) ? new URL(origin).host : "";
  // Behind a proxy the Host header may be the proxy's word for us, and BASE_URL is where browsers find us.
  return host !== "" && (host === request.headers.get("host") || host === ownHost);
}
