import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { z } from 'zod';
import { unreadableReason } from '../../../../packages/process/options/named-file.ts';
import { yamlValueOf } from '../../../../packages/process/options/yaml-value.ts';
import { ImageGlobs } from '../../../../schemas/policy/glob.ts';

/** A larger file is no list of patterns but a mistake. */
const MAX_BYTES = 65_536;

const NO_LIMIT = 'must be a whole number, 0 or more, or null';

/** What the node's own operator wrote. Every key only takes away from what an order may remove. */
const LocalFile = z.strictObject(
  {
    /** Images whose name matches stay, as in a policy's `keep.images`. */
    keepPatterns: ImageGlobs.default([]),
    maxRemovalsPerHour: z.int({ error: NO_LIMIT }).nonnegative({ error: NO_LIMIT }).nullable().default(null),
    /** Nothing is removed while it is true. */
    hold: z.boolean({ error: 'must be true or false' }).default(false),
  },
  { error: ({ code }) => (code === 'invalid_type' ? 'must be settings, as in "hold: true"' : undefined) },
);

export type WrittenRules = { readonly kind: 'rules' } & Readonly<z.infer<typeof LocalFile>>;

/** The node's last word at this moment. */
export type LocalRules =
  | WrittenRules
  /** What the node's own people want is not certain: nothing may be removed. */
  | { readonly kind: 'held'; readonly message: string };

export const NO_LOCAL_RULES: WrittenRules = {
  kind: 'rules',
  keepPatterns: [],
  maxRemovalsPerHour: null,
  hold: false,
};

/** The file as it lies there. */
export type FileNow =
  | { readonly kind: 'missing' }
  /** Whoever writes the file anew changes `writing`, also with the same text. */
  | { readonly kind: 'text'; readonly text: string; readonly writing: string }
  | { readonly kind: 'held'; readonly message: string };

export async function readLocalFile(path: string): Promise<FileNow> {
  try {
    // A pipe that nobody writes to must not keep the executor waiting.
    await using file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
    const stat = await file.stat({ bigint: true });
    if (!stat.isFile() && !stat.isDirectory()) return held(path, 'it is no file');
    const { size, ino, mtimeNs, ctimeNs } = stat;
    if (size > MAX_BYTES) return held(path, `it has more than ${MAX_BYTES} bytes`);
    return { kind: 'text', text: await file.readFile('utf8'), writing: `${ino} ${mtimeNs} ${ctimeNs}` };
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return { kind: 'missing' };
    return heldBecause(path, 'read', unreadableReason(error));
  }
}

export function parseLocalRules(path: string, text: string): LocalRules {
  const parsed = yamlValueOf(text);
  if (!parsed.ok) return held(path, parsed.problem);
  // Also what a file looks like that somebody is just writing.
  if (parsed.value === null) return held(path, 'it is empty; write "{}" where nothing is to be restricted');
  const rules = LocalFile.safeParse(parsed.value);
  return rules.success ? { kind: 'rules', ...rules.data } : held(path, inOneLine(rules.error));
}

const inOneLine = ({ issues }: z.ZodError): string => issues.map(issueText).join('; ');

function issueText(issue: z.core.$ZodIssue): string {
  if (issue.code === 'unrecognized_keys') return issue.keys.map(noSuchSetting).join('; ');
  return `${z.core.toDotPath(issue.path) || 'the file'} ${issue.message}`;
}

const noSuchSetting = (key: string): string =>
  `there is no setting ${key}, only ${Object.keys(LocalFile.shape).join(', ')}`;

const held = (path: string, problem: string): Extract<LocalRules, { kind: 'held' }> =>
  heldBecause(path, 'understood', problem);

const heldBecause = (
  path: string,
  not: 'read' | 'understood',
  problem: string,
): Extract<LocalRules, { kind: 'held' }> => ({
  kind: 'held',
  message: `the node's own file ${path} holds everything because it cannot be ${not}: ${problem}`,
});

/** What `after` allows that `before` did not, for people; nothing where it is at least as strict. */
export const lifted = (before: WrittenRules, after: WrittenRules): readonly string[] => [
  ...(before.hold && !after.hold ? ['hold'] : []),
  ...(isRateRaised(before, after) ? ['maxRemovalsPerHour'] : []),
  ...before.keepPatterns.filter((pattern) => !after.keepPatterns.includes(pattern)),
];

const isRateRaised = (before: WrittenRules, after: WrittenRules): boolean =>
  before.maxRemovalsPerHour !== null &&
  (after.maxRemovalsPerHour === null || after.maxRemovalsPerHour > before.maxRemovalsPerHour);
