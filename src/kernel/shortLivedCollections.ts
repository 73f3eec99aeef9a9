/**
 * Sets and maps for short-lived members. A built-in `Set` or `Map` would do, but in JavaScriptCore everything that
 * passes through one stays in memory until the next full collection. When such a table grows or is compacted, the old
 * table points to the new one; an old table that has outlived a small collection keeps all later ones alive, with
 * their contents (measured: 13,000 answered requests of 5 kB each between two full collections).
 */

/** A member of {@link InFlightSet}, for removing it. */
export interface Flight<Value> {
  readonly value: Value;
  /** Its index among the members, which changes when one of them leaves. */
  at: number;
}

/** A set of members in flight, in no order. */
export class InFlightSet<Value> {
  private readonly flights: Flight<Value>[] = [];

  add(value: Value): Flight<Value> {
    const flight = { value, at: this.flights.length };
    this.flights.push(flight);
    return flight;
  }

  /** False if it was removed before. */
  delete(flight: Flight<Value>): boolean {
    if (this.flights[flight.at] !== flight) return false;
    const last = this.flights.pop() as Flight<Value>;
    if (last !== flight) {
      this.flights[flight.at] = last;
      last.at = flight.at;
    }
    return true;
  }

  /** A copy of the current members, so callers may remove some while iterating. */
  values(): readonly Value[] {
    return this.flights.map(({ value }) => value);
  }
}

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

  /** False if there is none. */
  delete(key: string): boolean {
    if (!(key in this.flights)) return false;
    delete this.flights[key];
    this.count -= 1;
    return true;
  }

  /** A copy of the current values. */
  values(): readonly Value[] {
    return Object.values(this.flights);
  }
}
