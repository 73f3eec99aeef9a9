/**
 * What one render may cost. Steps and work are counted, not timed, so that the same template and variables come
 * to the same end on every machine; the time is a last resort, because a render holds up everybody else. It is time of
 * the processor, so that no template is refused because the machine is busy with something else.
 */
const STEPS_MAX = 100_000;
/**
 * In characters that filters, comparisons and look-ups go over. An html of 1,000,000 units, 500,000 characters of two,
 * is escaped and written for 6,000,000; a capture or a filter on the whole of it costs as much again.
 */
const WORK_MAX = 16_000_000;
/** What an element of a list or object costs beside its characters: filters look at each of them. */
const ELEMENT_WORK = 64;
/** What a piece of a template costs beside what it does. */
const STEP_WORK = 8;
const LOOK_WORK = 1_024;
/** What a character or number costs that is made anew: a range of a million takes as long as much else. */
const ALLOCATED_UNIT_WORK = 4;
const RENDER_MS_MAX = 250;
/** So many characters that are sought cost as much as the first one: they are compared at once. */
const PATTERN_STRIDE = 16;

/** A template asks for more than a render may cost. The message is for the template's author. */
export class BudgetError extends Error {
  override readonly name = "BudgetError";
}

/**
 * Keeps one render within its bounds. It replaces both of liquidjs's limiters: `check` is called
 * before every piece of a template, `use` with what a filter is about to allocate.
 */
export class RenderBudget {
  #steps = 0;
  #work = 0;
  /** The time is looked at when as much work as this is done: asking for it costs as much as some steps. */
  #workAtNextLook = LOOK_WORK;
  readonly #deadline = performance.now() + RENDER_MS_MAX;
  readonly #spentBefore = processorMs();

  check(): void {
    this.#steps += 1;
    if (this.#steps > STEPS_MAX) throw new BudgetError(`takes more than ${STEPS_MAX} steps`);
    this.#spend(STEP_WORK);
  }

  use(units: number): void {
    // What is not a number is no claim: liquidjs computes it from whatever the template says.
    if (units > 0) this.#spend(units * ALLOCATED_UNIT_WORK);
  }

  /** Pays for going over `value` once, however deep it is. Called before anybody does so. */
  pay(value: unknown): void {
    this.#spend(weight(value, WORK_MAX));
  }

  /** Pays for seeking `pattern`, or the path or value that it is, in every place of `value`. */
  paySearch(value: unknown, pattern: unknown): void {
    this.#spend(weight(value, WORK_MAX) * (1 + weight(pattern, WORK_MAX) / PATTERN_STRIDE));
  }

  #spend(work: number): void {
    this.#work += work;
    if (this.#work < this.#workAtNextLook) return;
    if (this.#work > WORK_MAX) throw new BudgetError("takes too much work");
    // The clock is asked first: that costs less, and the thread has not taken longer than the clock says.
    if (performance.now() > this.#deadline && processorMs() - this.#spentBefore > RENDER_MS_MAX)
      throw new BudgetError("takes too long");
    this.#workAtNextLook = this.#work + LOOK_WORK;
  }
}

/** Processor time of this thread so far, in ms. */
function processorMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}

/** How much there is to go over in `value`; Infinity as soon as it is more than `max`. */
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
