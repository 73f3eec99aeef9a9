/** A value that is made when it is first asked for, and kept. What `make` throws is thrown, and not kept. */
export function lazy<Value>(make: () => Value): () => Value {
  let made: { readonly value: Value } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}
