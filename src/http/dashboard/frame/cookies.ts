interface Cookie {
  readonly name: string;
  /** Of characters that need no quotes. */
  readonly value: string;
  readonly path: string;
  readonly isSecure: boolean;
  /** 0 takes it away. */
  readonly maxAgeSeconds: number;
}

/** A Set-Cookie header that no script reads and no other site's request carries (RFC 6265bis). */
export function setCookie({ name, value, path, isSecure, maxAgeSeconds }: Cookie): string {
  const rules = [`Path=${path}`, `Max-Age=${maxAgeSeconds}`, "HttpOnly", "SameSite=Strict"];
  return [`${name}=${value}`, ...rules, ...(isSecure ? ["Secure"] : [])].join("; ");
}

/** The value of a cookie that came with a request; null without it. */
export function cookieOf(request: Request, name: string): string | null {
  for (const pair of (request.headers.get("cookie") ?? "").split(";")) {
    const [key = "", ...value] = pair.trim().split("=");
    if (key === name) return value.join("=");
  }
  return null;
}
