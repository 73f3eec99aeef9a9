/** One thing that `doctor` looked at. */
export interface Finding {
  readonly name: string;
  readonly ok: boolean;
  readonly detail: string;
}
