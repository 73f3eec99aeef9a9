import { type RequestContext, shareRequestContext } from "./requestContext.ts";

/**
 * The path and the query. We do not parse the URL, because an invalid Host header would make that throw. Without a
 * Host header, as in HTTP/1.0, the URL is just the path.
 */
function targetOf({ url }: Request): string {
  return url.startsWith("/") ? url : url.slice(url.indexOf("/", "http://".length));
}

/** The path, without the query. A `#` ends neither: a request's target has no fragment (RFC 9112 §3.2). */
export function pathOf(request: Request): string {
  return targetOf(request).split("?", 1)[0] ?? "";
}

function localUrl(request: Request): string {
  return `http://localhost${targetOf(request)}`;
}

/** The path and the query, parsed. The host stands in for the one that was asked for, which may be no part of a URL. */
export function urlOf(request: Request): URL {
  return new URL(localUrl(request));
}

/** Whether the percent-encoding in the path decodes to text (RFC 3986 §2.1); the router throws otherwise. */
export function hasReadablePath(request: Request): boolean {
  if (!request.url.includes("%")) return true;
  try {
    decodeURIComponent(pathOf(request));
    return true;
  } catch {
    return false;
  }
}

/** The request as Elysia can route it: with a full URL, and HEAD as GET, whose answer differs only in the body. */
export function routable(request: Request, context: RequestContext): Request {
  const isHead = request.method === "HEAD";
  if (!isHead && !request.url.startsWith("/")) return request;
  const url = localUrl(request);
  const whole = isHead ? new Request(url, { headers: request.headers }) : new Request(url, request);
  shareRequestContext(whole, context);
  return whole;
}
