import fc from "fast-check";

/** Texts with emoji, lone surrogates and everything else that a JavaScript string may contain. */
export const anyText = fc.oneof(fc.string({ unit: "grapheme" }), fc.string({ unit: "binary" }), halves());

function halves() {
  const unit = fc.constantFrom("a", "\ud83d", "\ude00", "\ud800", "\udfff", "é", "\u20ac");
  return fc.array(unit, { maxLength: 12 }).map((units) => units.join(""));
}
