export function capitalized(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** `RateLimited` for `RATE_LIMITED`, `rate.limited` or `Rate limited`. */
export function pascalCase(words: string): string {
  return words.toLowerCase().split(/[._ ]/).map(capitalized).join("");
}
