/** A request under way, and what it will end with. */
interface Flight<Outcome> {
  /** Equal for requests that ask for the same. */
  readonly fingerprint: string;
  readonly outcome: Promise<Outcome>;
}

/**
 * The sends under way on this instance, by the id of their message: as many as there are requests. Those with the
 * same content share one, so that they take from the limits once and get one answer; others with the same key wait.
 */
export class Flights<Outcome> {
  private readonly underWay = new Map<string, Flight<Outcome>>();

  /**
   * What `work` ends with, or the request with the same content that was under way. `differing` says what the end of
   * one with other content means for this request; null: nothing, it is this one's turn.
   */
  async share(
    { id, fingerprint }: { readonly id: string; readonly fingerprint: string },
    work: () => Promise<Outcome>,
    differing: (outcome: Outcome) => Outcome | null,
  ): Promise<{ readonly outcome: Outcome; readonly isShared: boolean }> {
    for (;;) {
      const other = this.underWay.get(id);
      if (other === undefined)
        return { outcome: await this.lead({ id, fingerprint }, work), isShared: false };
      if (other.fingerprint === fingerprint) return { outcome: await other.outcome, isShared: true };
      const end = await other.outcome.catch(() => null);
      const meant = end === null ? null : differing(end);
      if (meant !== null) return { outcome: meant, isShared: true };
    }
  }

  /** Waits for whoever is under way to the message now, however it ends. */
  async landed(id: string): Promise<void> {
    await this.underWay.get(id)?.outcome.catch(() => {});
  }

  private lead(
    { id, fingerprint }: { readonly id: string; readonly fingerprint: string },
    work: () => Promise<Outcome>,
  ): Promise<Outcome> {
    const outcome = work().finally(() => this.underWay.delete(id));
    this.underWay.set(id, { fingerprint, outcome });
    return outcome;
  }
}
