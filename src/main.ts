import { ConfigError, readConfig } from "./config.ts";
import { serve } from "./cli/serve.ts";

await serve(readConfig(process.env));
