/** Kafka's requests begin with their size, what is asked, a number of their own, and the client's id. */
const ID_LENGTH_AT = 4 + 2 + 2 + 4;

/** Of the first request on a connection; `null` while not all of it has come. */
export function clientIdOf(bytes: Buffer): string | null {
  if (bytes.length < ID_LENGTH_AT + 2) return null;
  const length = bytes.readInt16BE(ID_LENGTH_AT);
  const end = ID_LENGTH_AT + 2 + Math.max(0, length);
  return bytes.length < end ? null : bytes.toString('utf8', ID_LENGTH_AT + 2, end);
}
