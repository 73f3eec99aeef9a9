/**
 * Whether a page of this service sent a changing request. Browsers say so in Sec-Fetch-Site, older ones in Origin. A
 * client that sends neither is not a browser, and its form still needs a token.
 */
export function isFromOwnPage(request: Request, ownHost: string): boolean {
  const site = request.headers.get("sec-fetch-site");
  if (site !== null) return site === "same-origin";
  const origin = request.headers.get("origin");
  if (origin === null) return true;
  const host = URL.canParse(origin) ? new URL(origin).host : "";
  // Behind a proxy the Host header may be the proxy's name for us, and BASE_URL is where browsers reach us.
  return host !== "" && (host === request.headers.get("host") || host === ownHost);
}
