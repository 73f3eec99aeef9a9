/** Requests to Amazon SNS. */
export interface SnsEndpoint {
  /** The text at a URL of Amazon SNS; null when it cannot be fetched. Follows no redirect; never throws. */
  get(url: string): Promise<string | null>;
}
