const WORDS =
  `account action amount answer basket before button change client closed coffee corner credit custom
  decide detail direct double effort either enough entire expect family figure finish follow friend garden ground
  handle happen height hidden import indeed invoice island journal kitchen language ledger letter listen manage market
  member minute moment mother motion nature notice number office orange origin packet parcel people period person
  planet please policy prefer profit public purpose quality quick reason record repeat report rescue result return
  sample screen search second secure select settle shadow signal silver simple single socket source spring square
  status stream street summer supply switch system tablet target thread ticket travel unique update vendor volume
  weekly window winter wonder worker yellow`.split(/\s+/);

/** How long the html of a measured message is, in characters. */
export const HTML_CHARACTERS = 2_000;

/** Text of words with numbers between them: compresses like a real message, not to nothing. */
export function wordsOf(characters: number, random: () => number): string {
  let text = "";
  while (text.length < characters) {
    const word = WORDS[Math.floor(random() * WORDS.length)];
    text += random() < 0.15 ? `${Math.floor(random() * 10_000)} ` : `${word} `;
  }
  return text.slice(0, characters);
}

/** The request that every measurement sends. */
export function mailBody(random: () => number, to = "you@example.com") {
  return {
    from: "hello@example.com",
    to,
    subject: wordsOf(40, random),
    html: `<p>${wordsOf(HTML_CHARACTERS - 7, random)}</p>`,
  };
}
