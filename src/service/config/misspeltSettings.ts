import { nearestName } from "../../kernel/text/nearestName.ts";

/** Shorter names are too similar to those of other programs (HOME, HOST). */
const NAME_CHARACTERS_MIN = 6;

/** The variables other programs use for their relay, one for each part of our SMTP_URL. */
const RELAY_PARTS = ["HOST", "PORT", "USER", "USERNAME", "PASS", "PASSWORD", "SECURE"];
const RELAY_NAMES = new Set(RELAY_PARTS.map((part) => `SMTP_${part}`));
/** Some programs prefix all their settings with their name. */
const OUR_PREFIX = "POSTLEDGER_";

/** Variables that are none of the `known` settings and were probably meant as one: a sentence each. */
export function misspeltSettings(
  variables: readonly string[],
  known: ReadonlySet<string>,
): readonly string[] {
  return variables
    .filter((name) => name.length >= NAME_CHARACTERS_MIN && !known.has(name))
    .flatMap((name) => {
      const meant = meantBy(name, known);
      return meant === null ? [] : [`${name} is not a setting and has no effect: did you mean ${meant}?`];
    });
}

/** The setting probably meant by an unknown name; null if the name is likely another program's. */
function meantBy(name: string, known: ReadonlySet<string>): string | null {
  if (RELAY_NAMES.has(name)) return "SMTP_URL";
  const unprefixed = name.startsWith(OUR_PREFIX) ? name.slice(OUR_PREFIX.length) : "";
  if (known.has(unprefixed)) return unprefixed;
  return nearestName(
    name,
    [...known].filter((other) => other.length >= NAME_CHARACTERS_MIN),
  );
}
