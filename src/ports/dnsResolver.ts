/** The name servers gave no answer that counts: none at all, too late, or SERVFAIL and its like. */
export class DnsUnavailableError extends Error {
  override readonly name = "DnsUnavailableError";
}

export interface DnsResolver {
  /**
   * The character strings (RFC 1035 §3.3.14) of all TXT records of a name, those of one record in order and
   * next to each other; "none" when the name does not exist or has no TXT record. Asks anew each time. Settles
   * within `timeoutMs`; throws {@link DnsUnavailableError}.
   */
  resolveTxt(name: string, timeoutMs: number): Promise<readonly string[] | "none">;
}
