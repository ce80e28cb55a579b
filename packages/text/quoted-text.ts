const BACKSLASH = 0x5c;
const COLON = 0x3a;
const SPACE = 0x20;

// A pattern that takes a text in quotes at once runs out of stack over a text of ten megabytes: so these look for its end.

/** Where the quote stands that ends a text in quotes whose inside begins at `from`, or the end of it all. Linear in the text. */
export function endOfText(text: string, from: number): number {
  let end = text.indexOf('"', from);
  while (end !== -1 && isEscaped(text, end, from)) end = text.indexOf('"', end + 1);
  return end === -1 ? text.length : end;
}

function isEscaped(text: string, quote: number, from: number): boolean {
  let first = quote;
  while (first > from && text.charCodeAt(first - 1) === BACKSLASH) first--;
  return (quote - first) % 2 === 1;
}

/** Whether a colon comes first from here on, so that the text before it is the name of a member. */
export function isName(text: string, from: number): boolean {
  let at = from;
  while (at < text.length && text.charCodeAt(at) <= SPACE) at++;
  return text.charCodeAt(at) === COLON;
}
