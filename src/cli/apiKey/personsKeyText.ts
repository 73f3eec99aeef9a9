/** What is shown of a new key of a person, instead of its secret. */
export function personsKeyText(id: string): string {
  return `${id} issued: its person logs in with it by single sign-on`;
}
