/** A word of a command that is shown for copying: in single quotes wherever a shell would read more into it. */
export const shellWord = (text: string): string =>
  /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
