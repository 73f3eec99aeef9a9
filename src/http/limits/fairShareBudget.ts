/** What somebody holds of it. */
interface Holding {
  readonly owner: string;
  readonly amount: number;
  readonly giveUp: () => void;
}

/**
 * A budget that everybody shares: bytes, or streams. Everybody gets what they ask for; where it is short, whoever holds
 * the most gives up what they have held the longest, so that nobody keeps out the others.
 */
export class FairShareBudget {
  private readonly holdings = new Set<Holding>();
  private readonly amounts = new Map<string, number>();
  private taken = 0;

  constructor(private readonly amountMax: number) {}

  /** Takes `amount` for an owner and returns what gives it back. `giveUp` is called when somebody else needs it. */
  take(owner: string, amount: number, giveUp: () => void): () => void {
    while (this.taken + amount > this.amountMax && this.holdings.size > 0) this.makeRoom();
    const holding = { owner, amount, giveUp };
    this.holdings.add(holding);
    this.count(owner, amount);
    return () => this.giveBack(holding);
  }

  private giveBack(holding: Holding): void {
    if (this.holdings.delete(holding)) this.count(holding.owner, -holding.amount);
  }

  private count(owner: string, amount: number): void {
    this.taken += amount;
    const now = (this.amounts.get(owner) ?? 0) + amount;
    if (now === 0) this.amounts.delete(owner);
    else this.amounts.set(owner, now);
  }

  private makeRoom(): void {
    const most = Math.max(...this.amounts.values());
    for (const holding of this.holdings) {
      if (this.amounts.get(holding.owner) !== most) continue;
      this.giveBack(holding);
      holding.giveUp();
      return;
    }
  }
}
