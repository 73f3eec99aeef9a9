/** The id of the service that uses a data directory. It stays there when that service dies. */
export interface RememberedServiceId {
  /**
   * The id under which a service on this data directory joined the log without leaving since. If the caller holds the
   * directory's lock, that service has ended. Null: it has left, or nothing is known.
   */
  previous(): string | null;
  /** Durable when it returns, so the id is on disk before it is recorded in the log. */
  remember(serviceId: string): void;
  forget(): void;
}
