import { threadProcessorMs } from "../../kernel/processorTime.ts";

/**
 * What one render may cost. Steps and work are counted, not timed, so the same template and variables have the same
 * result on every machine. The time limit is a last resort, because a render holds up everybody else. It is processor
 * time, so no template is refused because the machine is busy with something else.
 */
const STEPS_MAX = 100_000;
/**
 * In characters that filters, comparisons and look-ups process. Escaping and writing an html of 1,000,000 units, which
 * is 500,000 characters of two, costs 6,000,000; a capture or a filter on all of it costs as much again.
 */
const WORK_MAX = 16_000_000;
/** The cost of an element of a list or object besides its characters, because filters look at each of them. */
const ELEMENT_WORK = 64;
/** The cost of a piece of a template besides what it does. */
const STEP_WORK = 8;
const LOOK_WORK = 1_024;
/** The cost of a newly created character or number, for example in a range of a million. */
const ALLOCATED_UNIT_WORK = 4;
const RENDER_MS_MAX = 250;
/** Making a zone's format takes 220 µs; `timeZones` keeps this many, so one render makes each at most once. */
export const ZONES_MAX = 50;
const ZONE_WORK = 1_000;
/** This many characters of a pattern cost as much as one, because they are compared at once. */
const PATTERN_STRIDE = 16;

/** A template exceeds what a render may cost. The message is for its author. */
export class BudgetError extends Error {
  override readonly name = "BudgetError";
}

/**
 * Keeps one render within its limits. It replaces both of liquidjs's limiters: liquidjs calls `check` before every
 * piece of a template, and `use` with what a filter is about to allocate.
 */
export class RenderBudget {
  #steps = 0;
  #work = 0;
  readonly #zones = new Set<string>();
  /** The amount of work at which to read the clock next, because reading it costs as much as some steps. */
  #workAtNextLook = LOOK_WORK;
  readonly #deadline = performance.now() + RENDER_MS_MAX;
  /** Unknown until the first look, because asking takes 1.6 µs, which is as long as many a render. */
  #spentBeforeMs: number | null = null;

  check(): void {
    this.#steps += 1;
    if (this.#steps > STEPS_MAX) throw new BudgetError(`takes more than ${STEPS_MAX} steps`);
    this.#spend(STEP_WORK);
  }

  use(units: number): void {
    // Ignores NaN: liquidjs computes the number from whatever the template says.
    if (units > 0) this.#spend(units * ALLOCATED_UNIT_WORK);
  }

  /** Pays for processing `value` once, however deep it is. Call it before doing so. */
  pay(value: unknown): void {
    this.#spend(weight(value, WORK_MAX));
  }

  /** Pays for looking up offsets of a time zone. Call it before doing so. */
  payZone(name: string, lookUps: number): void {
    this.#zones.add(name.toLowerCase());
    if (this.#zones.size > ZONES_MAX) throw new BudgetError(`uses more than ${ZONES_MAX} time zones`);
    this.#spend(lookUps * ZONE_WORK);
  }

  /** Pays for searching `pattern`, or a path or value, in every place of `value`. */
  paySearch(value: unknown, pattern: unknown): void {
    this.#spend(weight(value, WORK_MAX) * (1 + weight(pattern, WORK_MAX) / PATTERN_STRIDE));
  }

  #spend(work: number): void {
    this.#work += work;
    if (this.#work < this.#workAtNextLook) return;
    if (this.#work > WORK_MAX) throw new BudgetError("takes too much work");
    this.#spentBeforeMs ??= threadProcessorMs();
    // Reads the wall clock first, because it costs less and the thread cannot have taken longer than it says.
    if (performance.now() > this.#deadline && threadProcessorMs() - this.#spentBeforeMs > RENDER_MS_MAX)
      throw new BudgetError("takes too long");
    this.#workAtNextLook = this.#work + LOOK_WORK;
  }
}

/** How much there is to process in `value`; Infinity as soon as it exceeds `max`. */
function weight(value: unknown, max: number): number {
  if (typeof value === "string") return value.length;
  if (typeof value !== "object" || value === null) return 1;
  if (Array.isArray(value)) return ELEMENT_WORK + weightOfAll(value, max);
  return ELEMENT_WORK + weightOfAll(Object.entries(value).flat(), max);
}

function weightOfAll(values: readonly unknown[], max: number): number {
  let sum = 0;
  for (const value of values) {
    sum += ELEMENT_WORK + weight(value, max - sum);
    if (sum > max) return Number.POSITIVE_INFINITY;
  }
  return sum;
}
