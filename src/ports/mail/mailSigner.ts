/** Signs mail for its sender's domain. */
export interface MailSigner {
  /**
   * The mail with the signatures for the domain of `from` in front; unchanged if that domain has no key. Throws when
   * signing fails, so mail that should be signed never goes out unsigned.
   */
  sign(mail: Buffer, from: string): Promise<Buffer>;
}
