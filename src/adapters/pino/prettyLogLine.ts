/** The fields that pino itself writes. */
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

/** Formats one of pino's lines for a terminal: time of day, level, message, and the other fields. */
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

/** In the terminal's time zone. */
function timeOfDay(time: number): string {
  const at = new Date(time);
  return [at.getHours(), at.getMinutes(), at.getSeconds()]
    .map((part) => String(part).padStart(2, "0"))
    .join(":");
}

/** A plain word unchanged; anything else as JSON, so the end of a field is clear and control characters are escaped. */
function fieldText(value: unknown): string {
  return typeof value === "string" && /^[\w./:@+-]+$/.test(value) ? value : JSON.stringify(value);
}
