/** What a data directory remembers of the service that works with it, beyond that service's death. */
export interface RememberedServiceId {
  /**
   * The id under which a service on this data directory joined the log, and has not left it. It has ended when the
   * caller holds the directory's lock. Null: it has left, or nobody knows.
   */
  previous(): string | null;
  /** Durable when it returns: before it is recorded in the log. */
  remember(serviceId: string): void;
  forget(): void;
}
