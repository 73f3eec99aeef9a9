/** Invalid settings: each error names its variable and what it takes. */
export class ConfigError extends Error {
  override readonly name = "ConfigError";
  constructor(readonly errors: readonly string[]) {
    super(errors.join("\n"));
  }
}
