/** What pino writes of its own. */
const OWN_FIELDS: ReadonlySet<string> = new Set(["level", "time", "service", "pid", "hostname", "msg"]);

const LEVELS: Readonly<Record<number, readonly [name: string, colour: number]>> = {
  10: ["TRACE", 90],
  20: ["DEBUG", 90],
  30: ["INFO", 32],
  40: ["WARN", 33],
  50: ["ERROR", 31],
  60: ["FATAL", 31],
};
const LEVEL_CHARS = 5;

/** One of pino's lines as a person reads it at a terminal: time of day, level, message, and the other fields. */
export function prettyLogLine(line: string, hasColours: boolean): string {
  const entry = JSON.parse(line) as { level: number; time: number; msg?: string };
  const [name, colour] = LEVELS[entry.level] ?? [String(entry.level), 0];
  const painted = (code: number, text: string) => (hasColours ? `\u001b[${code}m${text}\u001b[0m` : text);
  const fields = Object.entries(entry)
    .filter(([key]) => !OWN_FIELDS.has(key))
    .map(([key, value]) => painted(90, `${key}=${fieldText(value)}`));
  const parts = [
    timeOfDay(entry.time),
    painted(colour, name.padEnd(LEVEL_CHARS)),
    entry.msg ?? "",
    ...fields,
  ];
  return `${parts.join(" ").trimEnd()}\n`;
}

/** By the clock of whoever sits at the terminal. */
function timeOfDay(time: number): string {
  const at = new Date(time);
  return [at.getHours(), at.getMinutes(), at.getSeconds()]
    .map((part) => String(part).padStart(2, "0"))
    .join(":");
}

/** A word as it is; all else as JSON, so that a field ends where it seems to, and no control character gets out. */
function fieldText(value: unknown): string {
  return typeof value === "string" && /^[\w./:@+-]+$/.test(value) ? value : JSON.stringify(value);
}
