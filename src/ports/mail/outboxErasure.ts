/** Removes mail that was written to files instead of a relay. Throws `StoreError` (`unavailable`) when a disk fails. */
export interface OutboxErasure {
  /** Removes what there is of a message, half-written files too. True when there was its file. Repeatable. */
  remove(emailId: string): Promise<boolean>;
}
