import { readFileSync } from "node:fs";
import { isIP } from "node:net";
import { hostInUrl } from "../../kernel/network/isLoopback.ts";
import { wholeNumber } from "../../kernel/text/wholeNumber.ts";
import { misspeltSettings } from "./misspeltSettings.ts";

/** The range of a port setting. */
export const PORTS = { min: 1, max: 65_535 } as const;

/** How many wrong entries of a list an error names. */
const WRONG_ENTRIES_SHOWN_MAX = 5;

export type Environment = Readonly<Record<string, string | undefined>>;

/** Reads one variable after another and collects all that is wrong with them. */
export class EnvironmentReader {
  readonly errors: string[] = [];
  private readonly names = new Set<string>();

  constructor(private readonly env: Environment) {}

  text(name: string, fallback: string): string {
    this.names.add(name);
    const value = this.env[name];
    return value === undefined || value === "" ? fallback : value;
  }

  /** The setting as `parse` returns it; null if it is not set or invalid. */
  parsed<Value>(name: string, parse: (text: string) => Value | null, must: string): Value | null {
    const text = this.text(name, "");
    const value = text === "" ? null : parse(text);
    if (text !== "" && value === null) this.errors.push(`${name} must be ${must}`);
    return value;
  }

  integer(name: string, fallback: number, range: { readonly min: number; readonly max: number }): number {
    const text = this.text(name, String(fallback));
    const value = wholeNumber(text, range);
    if (value !== null) return value;
    this.errors.push(`${name} must be a whole number from ${range.min} to ${range.max}`);
    return fallback;
  }

  /** A port to listen on; null for `off`, the default. */
  listeningPort(name: string): number | null {
    const text = this.text(name, "off");
    const port = wholeNumber(text, { max: PORTS.max });
    if (text !== "off" && port === null)
      this.errors.push(`${name} must be off, or a whole number from 0 to ${PORTS.max}`);
    return port;
  }

  /** `on` or `off`. */
  flag(name: string, fallback: boolean): boolean {
    return this.choice(name, fallback ? "on" : "off", ["on", "off"]) === "on";
  }

  choice<const Choice extends string>(name: string, fallback: Choice, choices: readonly Choice[]): Choice {
    const text = this.text(name, fallback);
    const found = choices.find((choice) => choice === text);
    if (found === undefined) this.errors.push(`${name} must be one of ${choices.join(", ")}`);
    return found ?? fallback;
  }

  /** Unknown variables that were probably meant as one of ours: a sentence each. */
  misspelt(): readonly string[] {
    return misspeltSettings(Object.keys(this.env), this.names);
  }

  /** A secret, from the variable itself or from the file that `<name>_FILE` names; null when neither is set. */
  secret(name: string): string | null {
    const value = this.text(name, "");
    const file = this.text(`${name}_FILE`, "");
    if (value !== "" && file !== "") this.errors.push(`${name} and ${name}_FILE must not both be set`);
    return value === "" ? this.file(`${name}_FILE`) : value;
  }

  /** Where a secret comes from, for error messages. */
  sourceOf(name: string): string {
    return this.text(`${name}_FILE`, "") === "" ? name : `the file of ${name}_FILE`;
  }

  /** The content of the file that the variable names; null when it is not set. */
  file(name: string): string | null {
    const path = this.text(name, "");
    if (path === "") return null;
    try {
      return readFileSync(path, "utf8").trim();
    } catch (error) {
      // Leave the path out: some people put the secret itself here.
      const { code } = error as NodeJS.ErrnoException;
      this.errors.push(`${name} names a file that cannot be read (${code})`);
      return null;
    }
  }

  /** Comma-separated values; none when it is not set. */
  list(name: string): readonly string[] {
    return this.text(name, "")
      .split(",")
      .map((value) => value.trim())
      .filter((value) => value !== "");
  }

  /** Reports which entries of a list are invalid. */
  requireEach(
    name: string,
    texts: readonly string[],
    isRight: (text: string) => boolean,
    must: string,
  ): void {
    const wrong = texts.filter((text) => !isRight(text));
    if (wrong.length === 0) return;
    const shown = wrong.slice(0, WRONG_ENTRIES_SHOWN_MAX).map((text) => JSON.stringify(text));
    const others = wrong.length - shown.length;
    this.errors.push(
      `${name} must be ${must}; wrong: ${shown.join(", ")}${others > 0 ? ` and ${others} more` : ""}`,
    );
  }

  /** A name or an address to listen on, by itself; IPv6 without brackets. */
  host(name: string, fallback: string): string {
    const text = this.text(name, fallback);
    const isAlone = isIP(text) !== 0 || /^[\w.-]+$/.test(text);
    if (isAlone && URL.canParse(`http://${hostInUrl(text)}`)) return text;
    this.errors.push(`${name} must be a single address or name: 127.0.0.1, ::1, 0.0.0.0 (all addresses)`);
    return fallback;
  }

  url(name: string, fallback: string): URL {
    const text = this.text(name, fallback);
    if (URL.canParse(text) && /^https?:/.test(text)) return new URL(text);
    this.errors.push(`${name} must be an http or https URL`);
    return new URL(fallback);
  }
}
