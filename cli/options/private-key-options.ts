import { z } from 'zod';
import type { Command } from '../../packages/process/command-output.ts';
import { FilePath, flagOf, withMeta } from '../../packages/process/options/options.ts';
import { configError } from '../../packages/process/options/read-options.ts';
import type { PrivateKeySource } from '../../packages/records/trust/private-key.ts';

/** Blanks divide words, and quotes keep them together. Nothing else has a meaning: no variable, no backslash, no pattern. */
const WORD = /\s*((?:[^\s"']|"[^"]*"|'[^']*')+)/y;
const QUOTED = /"([^"]*)"|'([^']*)'/g;

function wordsOf(text: string): readonly string[] | null {
  const words: string[] = [];
  const trimmed = text.trim();
  for (let at = 0; at < trimmed.length; ) {
    WORD.lastIndex = at;
    const [whole, word] = WORD.exec(trimmed) ?? [];
    if (whole === undefined || word === undefined) return null;
    words.push(word.replaceAll(QUOTED, (_quoted, double = '', single = '') => double + single));
    at += whole.length;
  }
  return words;
}

/** One text, or in the config file a list of words. */
const CommandWords = withMeta(
  z.union([z.string(), z.array(z.string())]).transform((given, context): Command => {
    const [program = '', ...words] = (typeof given === 'string' ? wordsOf(given) : given) ?? [];
    if (program !== '') return [program, ...words];
    // Without the value, which may hold a password.
    context.addIssue({ code: 'custom', message: UNREADABLE, input: undefined });
    return z.NEVER;
  }),
  { placeholder: 'COMMAND' },
);

const UNREADABLE = 'must be a program and its arguments, with each quote closed';

const fileOption = (what: string, commandLineOnly: boolean) =>
  withMeta(FilePath.optional(), {
    commandLineOnly,
    description: `${what}: a file in PKCS #8 PEM that only its user and group can read.`,
  });

const commandOption = (what: string, commandLineOnly: boolean) =>
  withMeta(CommandWords.optional(), {
    commandLineOnly,
    description: `${what}: a command that writes it to stdout, in place of the file. Blanks divide its words, quotes keep them together; no shell reads it.`,
  });

const SIGNING = 'Private key that signs what is sent';
export const signingKeyOptions = {
  signingKeyFile: fileOption(SIGNING, false),
  signingKeyCommand: commandOption(SIGNING, false),
};

const ROOT = "The root's private key";
export const rootKeyOptions = {
  rootKeyFile: fileOption(ROOT, true),
  rootKeyCommand: commandOption(ROOT, true),
};

const CHECKED = 'A private key that is to sign something; it is checked against its certificate';
export const checkedKeyOptions = {
  keyFile: fileOption(CHECKED, true),
  keyCommand: commandOption(CHECKED, true),
};

/** `null` where neither is given. Throws `CONFIG_INVALID` where both are; `key` is that of the option that names a file. */
export function privateKeySource(
  file: string | undefined,
  command: Command | undefined,
  key: 'signingKeyFile' | 'rootKeyFile' | 'keyFile',
): PrivateKeySource | null {
  if (file !== undefined && command !== undefined)
    throw configError([`${flagOf(key)} and ${flagOf(key.replace('File', 'Command'))}: give one of them`]);
  if (command !== undefined) return { kind: 'command', command };
  return file === undefined ? null : { kind: 'file', path: file };
}
