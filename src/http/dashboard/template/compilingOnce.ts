import type { CompileResult, TemplateEngine } from "../../../ports/templateEngine.ts";

/** The engine for one request, which may need what it compiles twice: to check a draft, and to find its variables. */
export function compilingOnce(engine: TemplateEngine): TemplateEngine {
  const compiled = new Map<string, CompileResult>();
  return {
    compile(source, kind) {
      const key = `${kind} ${source}`;
      const result = compiled.get(key) ?? engine.compile(source, kind);
      compiled.set(key, result);
      return result;
    },
  };
}
