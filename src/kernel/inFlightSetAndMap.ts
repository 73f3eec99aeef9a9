/**
 * Sets and maps for what is under way for a short time. A `Set` or `Map` of the language would do the same, but in
 * JavaScriptCore what passes through one stays in memory until the next full collection. When such a table grows or is
 * tidied, the old one points to the new one; and an old one that has outlived a small collection keeps all later ones
 * alive, with what was in them (measured: 13,000 answered requests of 5 kB each between two full collections).
 */

/** A member of {@link InFlightSet}, to take it out by. */
export interface Flight<Value> {
  readonly value: Value;
  /** Where it is among the others, which moves when one of them leaves. */
  at: number;
}

/** What is under way, in no order. */
export class InFlightSet<Value> {
  private readonly flights: Flight<Value>[] = [];

  add(value: Value): Flight<Value> {
    const flight = { value, at: this.flights.length };
    this.flights.push(flight);
    return flight;
  }

  /** False when it was taken out before. */
  delete(flight: Flight<Value>): boolean {
    if (this.flights[flight.at] !== flight) return false;
    const last = this.flights.pop() as Flight<Value>;
    if (last !== flight) {
      this.flights[flight.at] = last;
      last.at = flight.at;
    }
    return true;
  }

  /** Those that are there now: whoever goes through them may take some out. */
  values(): readonly Value[] {
    return this.flights.map(({ value }) => value);
  }
}

/** What is under way, by its key. */
export class InFlightMap<Value extends object> {
  private readonly flights: Record<string, Value> = Object.create(null);
  private count = 0;

  get size(): number {
    return this.count;
  }

  get(key: string): Value | undefined {
    return this.flights[key];
  }

  set(key: string, value: Value): void {
    if (!(key in this.flights)) this.count += 1;
    this.flights[key] = value;
  }

  /** False when there is none. */
  delete(key: string): boolean {
    if (!(key in this.flights)) return false;
    delete this.flights[key];
    this.count -= 1;
    return true;
  }

  /** Those that are there now. */
  values(): readonly Value[] {
    return Object.values(this.flights);
  }
}
