/** The longest name of a person, in characters: that of an email address. */
export const PERSON_CHARACTERS_MAX = 320;

/** What {@link parsePerson} takes, after "must". */
export const PERSON_RULE = `name one person, such as ana@example.com, in 1 to ${PERSON_CHARACTERS_MAX} printable ASCII characters without a comma`;

/** Words between single spaces. Without commas, because a header that was sent twice is joined with one. */
const PERSON = /^[!-+\x2d-~]+(?: [!-+\x2d-~]+)*$/;

/**
 * A person's name for single sign-on, in lower case, as persons are compared; null if the text cannot name one person.
 */
export function parsePerson(text: string): string | null {
  return text.length <= PERSON_CHARACTERS_MAX && PERSON.test(text) ? text.toLowerCase() : null;
}

/** A key as people know it: with its person, unless it is named so. */
export function keyNameWithPerson({
  name,
  person,
}: {
  readonly name: string;
  readonly person: string | null;
}): string {
  return person === null || name.toLowerCase() === person ? name : `${name} (${person})`;
}
