import type { Child } from "hono/jsx";
import type { IncomingBody } from "../../body/bodyAdmission.ts";
import { mediaTypeOf, readBytes, requireIdentity } from "../../body/bodyBytes.ts";
import { Problem } from "../../server/problem.ts";

/** More fields than any of our forms has. */
const FIELDS_MAX = 600;

/** Reads the fields of a form as browsers send it. */
export async function readForm(
  request: Request,
  body: IncomingBody,
  bytesMax: number,
): Promise<URLSearchParams> {
  if (mediaTypeOf(request.headers) !== "application/x-www-form-urlencoded") {
    throw new Problem("INVALID_REQUEST", {
      detail: "the Content-Type must be application/x-www-form-urlencoded",
    });
  }
  requireIdentity(request.headers);
  const form = new URLSearchParams(new TextDecoder().decode(await readBytes(request, body, bytesMax)));
  if (form.size > FIELDS_MAX)
    throw new Problem("INVALID_REQUEST", { detail: "the form has too many fields" });
  return form;
}

/** The name, value and fault of a form's fields, each by its name: as submitted, or as they are before that. */
export function formFields(
  form: URLSearchParams,
  faults: Readonly<Record<string, Child>> = {},
  read: typeof fieldOf = fieldOf,
) {
  return (name: string, initial = "") => ({
    name,
    value: form.has(name) ? read(form, name) : initial,
    fault: faults[name],
  });
}

/** The text of a field without the white space around it. */
export function fieldOf(form: URLSearchParams, name: string): string {
  return verbatimFieldOf(form, name).trim();
}

/** The text of a field as typed, with plain line feeds: browsers send CRLF (HTML, form submission). */
export function verbatimFieldOf(form: URLSearchParams, name: string): string {
  return (form.get(name) ?? "").replaceAll("\r\n", "\n");
}
