/** Removes mail that was written to files instead of sent. Throws `StoreError` (`unavailable`) when a disk fails. */
export interface OutboxErasure {
  /** Removes all files of a message, half-written ones too. True if its finished file was there. Repeatable. */
  remove(emailId: string): Promise<boolean>;
}
