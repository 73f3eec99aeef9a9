/** Signs mail for its sender's domain. */
export interface MailSigner {
  /**
   * The mail with the signatures of the domain of `from` before it; as it is where there is no key for that domain.
   * Throws when a key does not sign: nothing that is to be signed goes out without it.
   */
  sign(mail: Buffer, from: string): Promise<Buffer>;
}
