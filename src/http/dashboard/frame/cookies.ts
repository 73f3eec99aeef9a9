/** The pages that get a cookie. */
export interface CookieScope {
  readonly cookiePath: string;
  /** Whether browsers use https. */
  readonly isSecure: boolean;
}

/** A cookie that no script can read and no cross-site request carries (RFC 6265bis). */
export function createCookie(name: string, { cookiePath, isSecure }: CookieScope) {
  return {
    /** The Set-Cookie header. The value has only characters that need no quotes; an age of 0 removes the cookie. */
    set(value: string, maxAgeSeconds: number): string {
      const rules = [`Path=${cookiePath}`, `Max-Age=${maxAgeSeconds}`, "HttpOnly", "SameSite=Strict"];
      return [`${name}=${value}`, ...rules, ...(isSecure ? ["Secure"] : [])].join("; ");
    },
    /** Its value in a request; null without it. */
    of: (request: Request) => new Bun.CookieMap(request.headers.get("cookie") ?? "").get(name),
  };
}
