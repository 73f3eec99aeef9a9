import { reasonOf } from "../../kernel/text/errorReason.ts";
import type { Clock } from "../../ports/clock.ts";
import { type Tolerate, tolerateFaults } from "../worker/tolerateFaults.ts";

/** What could not be erased this time. */
export class ErasureFaults {
  private readonly tolerate: Tolerate;
  private first: { readonly what: string; readonly cause: unknown } | null = null;
  private count = 0;

  constructor(clock: Clock) {
    this.tolerate = tolerateFaults(clock);
  }

  /** Erases `what`; a fault does not stop the rest. */
  async pass(what: string, act: () => Promise<void>): Promise<void> {
    await this.tolerate(act, (cause) => {
      this.first ??= { what, cause };
      this.count += 1;
    });
  }

  /** Throws the first fault, and says how many there were. */
  throwFirst(): void {
    if (this.first === null) return;
    const { what, cause } = this.first;
    const others = this.count === 1 ? "" : ` (and ${this.count - 1} more)`;
    throw new Error(`${what} could not be erased${others}: ${reasonOf(cause)}`, { cause });
  }
}
