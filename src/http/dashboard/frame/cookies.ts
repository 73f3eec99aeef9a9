interface Cookie {
  readonly name: string;
  /** Only characters that need no quotes. */
  readonly value: string;
  readonly path: string;
  readonly isSecure: boolean;
  /** 0 removes it. */
  readonly maxAgeSeconds: number;
}

/** A Set-Cookie header for a cookie that no script can read and no cross-site request carries (RFC 6265bis). */
export function setCookie({ name, value, path, isSecure, maxAgeSeconds }: Cookie): string {
  const rules = [`Path=${path}`, `Max-Age=${maxAgeSeconds}`, "HttpOnly", "SameSite=Strict"];
  return [`${name}=${value}`, ...rules, ...(isSecure ? ["Secure"] : [])].join("; ");
}

/** The value of a request's cookie; null without it. */
export function cookieOf(request: Request, name: string): string | null {
  return new Bun.CookieMap(request.headers.get("cookie") ?? "").get(name);
}
