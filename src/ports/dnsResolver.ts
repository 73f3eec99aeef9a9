/** Our name servers did not answer, or answered too late. */
export class DnsUnavailableError extends Error {
  override readonly name = "DnsUnavailableError";
}

export interface DnsResolver {
  /**
   * The character strings (RFC 1035 §3.3.14) of all TXT records of a name; those of one record stand together and in
   * order. "none": the name does not exist or has no TXT record. "failing": the zone's name servers fail (SERVFAIL),
   * perhaps only for now. Never cached. Settles within `timeoutMs`; throws {@link DnsUnavailableError}.
   */
  resolveTxt(name: string, timeoutMs: number): Promise<readonly string[] | "none" | "failing">;
}
