/** One thing that `doctor` looked at, in the service or without one. */
export interface Check {
  readonly name: string;
  /** `warning`: the service does its work, and somebody should know. */
  readonly status: "ok" | "warning" | "failed";
  readonly detail: string;
  /** What to do; null where nothing is to be done. */
  readonly action: string | null;
}

export function ok(name: string, detail: string): Check {
  return { name, status: "ok", detail, action: null };
}

export function warning(name: string, detail: string, action: string): Check {
  return { name, status: "warning", detail, action };
}

export function failed(name: string, detail: string, action: string | null): Check {
  return { name, status: "failed", detail, action };
}
