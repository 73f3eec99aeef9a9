/** What is asked of Amazon SNS. */
export interface SnsEndpoint {
  /** The text behind a URL of Amazon SNS; null when it cannot be had. Follows no redirection; never throws. */
  get(url: string): Promise<string | null>;
}
