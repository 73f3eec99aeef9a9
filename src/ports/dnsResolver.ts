/** Our name servers gave no answer: none at all, or too late. */
export class DnsUnavailableError extends Error {
  override readonly name = "DnsUnavailableError";
}

export interface DnsResolver {
  /**
   * The character strings (RFC 1035 §3.3.14) of all TXT records of a name, those of one record in order and
   * next to each other; "none" when the name does not exist or has no TXT record; "failing" when the name servers of its
   * zone do not do their work (SERVFAIL), which may pass. Asks anew each time. Settles within `timeoutMs`; throws
   * {@link DnsUnavailableError}.
   */
  resolveTxt(name: string, timeoutMs: number): Promise<readonly string[] | "none" | "failing">;
}
