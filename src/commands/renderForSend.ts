import type { Services } from "./services.ts";

/** Which template a send names, and what it fills it with. */
export interface TemplateRequest {
  readonly workspaceId: string;
  readonly templateId: string;
  /** Null: the current published version. */
  readonly versionId: string | null;
  readonly variables: Readonly<Record<string, unknown>>;
}

/** One wrong variable: `pointer` is a JSON Pointer (RFC 6901) into the request's body. */
export interface TemplateDataFault {
  readonly pointer: string;
  readonly message: string;
}

export type RenderOutcome =
  | {
      readonly kind: "rendered";
      readonly versionId: string;
      readonly subject: string;
      readonly html?: string;
      readonly text?: string;
    }
  | { readonly kind: "unavailable" }
  | { readonly kind: "invalidData"; readonly faults: readonly TemplateDataFault[] };

/** Renders a send's template at acceptance, so that an accepted message can always be built. */
export async function renderForSend(_services: Services, _request: TemplateRequest): Promise<RenderOutcome> {
  return { kind: "unavailable" };
}
