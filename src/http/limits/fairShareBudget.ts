/** One owner's part of the budget. */
interface Holding {
  readonly owner: string;
  readonly amount: number;
  readonly giveUp: () => void;
}

/**
 * A shared budget, of bytes or streams. Everybody gets what they ask for. When it runs short, the owner with the most
 * gives up its oldest part, so nobody can lock out the others.
 */
export class FairShareBudget {
  private readonly holdings = new Set<Holding>();
  private readonly amounts = new Map<string, number>();
  private taken = 0;

  constructor(private readonly amountMax: number) {}

  /** Takes `amount` for an owner and returns what gives it back. Calls `giveUp` if somebody else needs it. */
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
