import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import type { Logger } from 'pino';
import { z } from 'zod';
import { sha256Hex } from '../../../packages/canonical/ids.ts';
import type { FixedFile } from '../../../packages/files/fixed-file.ts';
import type { NodeClock } from '../../../packages/machine/clock.ts';
import type { StateDirectory } from '../../../packages/machine/state-directory.ts';
import { MINUTE_MS } from '../../../packages/process/durations.ts';
import { toFleetGcError } from '../../../packages/process/errors.ts';
import { unreadableReason } from '../../../packages/process/options/named-file.ts';
import { yamlValueOf } from '../../../packages/process/options/yaml.ts';
import type { Instant } from '../../../schemas/events/time.ts';
import { ImageGlobs } from '../../../schemas/policy/glob.ts';

/**
 * So long a file that restricts less has to stay as it is, since it may be half of one that is being written.
 * @limit Time that a less strict `node.yaml` must be unchanged before it applies.
 */
export const STABLE_MS = 10_000;

/** Which file is the node's own. */
export interface LocalFileOption {
  readonly path: string;
  /** Named by an option, so that a missing one is a mistake also where none was ever seen. */
  readonly isNamed: boolean;
}

export interface LocalRulesParts {
  readonly clock: NodeClock;
  readonly state: Pick<StateDirectory, 'open'>;
  readonly logger: Logger;
}

type Text = Extract<FileNow, { kind: 'text' }>;

/** A file that restricts less than what was last believed, and since when it has been as it is. */
interface Waiting extends Text {
  readonly sinceBootMs: number;
}

/** The node's own file over time: more restrictions hold at once, fewer only once the file has stayed as it is. */
class FollowedRules {
  /** The rules last believed; `unknown` after a restart, until the file is seen. */
  #believed: WrittenRules | 'unknown';
  #waiting: Waiting | null = null;
  readonly #option: LocalFileOption;
  readonly #clock: NodeClock;
  readonly #logger: Logger;
  readonly #mark: LocalMark;
  /** Why everything is held, as the log was told last; `null` when it is not. */
  #reported: string | null = null;
  /** What the state directory remembers of this file; `undefined` while that cannot be read. */
  #markedSha256: string | null | undefined;

  constructor(option: LocalFileOption, { clock, state, logger }: LocalRulesParts) {
    this.#option = option;
    this.#clock = clock;
    this.#logger = logger;
    this.#mark = openLocalMark(state, logger);
    const { seen } = this.#mark;
    this.#markedSha256 = seen === 'unreadable' ? undefined : seen?.path === option.path ? seen.sha256 : null;
    this.#believed = this.#markedSha256 === null ? NO_LOCAL_RULES : 'unknown';
  }

  async now(): Promise<LocalRules> {
    const rules = await this.#look();
    this.#report(rules);
    return rules;
  }

  /** Once for each reason; what passes by itself is no error. */
  #report(rules: LocalRules): void {
    const message = rules.kind === 'held' ? rules.message : null;
    if (message === this.#reported) return;
    this.#reported = message;
    if (message === null) this.#logger.info(`the node's own file ${this.#option.path} is followed again`);
    else if (this.#waiting === null) this.#logger.error(message);
    else this.#logger.info(message);
  }

  async #look(): Promise<LocalRules> {
    const file = await readLocalFile(this.#option.path);
    if (file.kind !== 'text') this.#waiting = null;
    switch (file.kind) {
      case 'held':
        return file;
      case 'missing':
        return this.#missing();
      case 'text':
        return this.#judged(file);
    }
  }

  #missing(): LocalRules {
    const { path, isNamed } = this.#option;
    const restricted = this.#believed === 'unknown' || lifted(this.#believed, NO_LOCAL_RULES).length > 0;
    if (!restricted && !isNamed) return NO_LOCAL_RULES;
    const why = isNamed ? 'is named by --local-file' : 'was there before';
    return held(`the node's own file ${path} ${why} and is missing: put it back, or write {} into it`);
  }

  #judged(file: Text): LocalRules {
    const rules = parseLocalRules(this.#option.path, file.text);
    if (rules.kind === 'held') {
      this.#waiting = null;
      return rules;
    }
    const doubt = this.#doubt(rules, file);
    if (doubt === null) return this.#believe(rules, file);
    return this.#hasStayed(file) ? this.#believe(rules, file) : held(doubt);
  }

  /** Why these rules are not believed at once. */
  #doubt(rules: WrittenRules, { text }: Text): string | null {
    const { path } = this.#option;
    const until = `nothing is removed until it has stayed as it is for ${STABLE_MS / 1000} s`;
    if (this.#believed === 'unknown')
      return sha256Hex(text) === this.#markedSha256
        ? null
        : `the node's own file ${path} is another than before the restart: ${until}`;
    const what = lifted(this.#believed, rules);
    if (what.length === 0) return null;
    return `the node's own file ${path} restricts less than it did (without ${what.join(', ')}): ${until}`;
  }

  #hasStayed(file: Text): boolean {
    const { sinceBootMs } = this.#clock.now();
    if (this.#waiting?.text !== file.text || this.#waiting.writing !== file.writing)
      this.#waiting = { ...file, sinceBootMs };
    return sinceBootMs - this.#waiting.sinceBootMs >= STABLE_MS;
  }

  #believe(rules: WrittenRules, { text }: Text): WrittenRules {
    this.#believed = rules;
    this.#waiting = null;
    const isRestricting = lifted(rules, NO_LOCAL_RULES).length > 0;
    const sha256 = isRestricting ? sha256Hex(text) : null;
    if (sha256 !== this.#markedSha256)
      this.#mark.save(sha256 === null ? null : { path: this.#option.path, sha256 });
    this.#markedSha256 = sha256;
    return rules;
  }
}

const held = (message: string): LocalRules => ({ kind: 'held', message });

/** Returns a function that tells the node's last word at this moment. It never rejects. */
export function followLocalRules(option: LocalFileOption, parts: LocalRulesParts): () => Promise<LocalRules> {
  const rules = new FollowedRules(option, parts);
  return () => rules.now();
}

/** Name of the file in the state directory that remembers the node's own file over a restart. */
export const LOCAL_MARK_FILE = 'local-file-seen';
/** Room for a path of 4096 characters, each escaped. */
export const LOCAL_MARK_BYTES = 25_000;

/** The file that restricted something when it was last believed; `null` when none did. */
const LocalMarkFile = z.object({
  version: z.literal(1),
  seen: z.object({ path: z.string(), sha256: z.string() }).nullable(),
});
type Seen = z.infer<typeof LocalMarkFile>['seen'];

interface LocalMark {
  /** `unreadable`: nobody knows whether there was a file. */
  readonly seen: Seen | 'unreadable';
  /** Never throws: what the disk does not take is not known after a restart, and the log says so. */
  save(seen: Seen): void;
}

function openLocalMark(directory: Pick<StateDirectory, 'open'>, logger: Logger): LocalMark {
  const report = (error: unknown, message: string): void =>
    logger.error({ problem: toFleetGcError(error).message }, message);
  const open = (): FixedFile<z.infer<typeof LocalMarkFile>> =>
    directory.open(LOCAL_MARK_FILE, LOCAL_MARK_BYTES, LocalMarkFile);
  let file: FixedFile<z.infer<typeof LocalMarkFile>> | null = null;
  let seen: LocalMark['seen'] = null;
  try {
    file = open();
    seen = file.read()?.seen ?? null;
  } catch (error) {
    seen = 'unreadable';
    report(error, "whether there was a file of the node's own cannot be read: removals wait for one");
  }
  return {
    seen,
    save: (next) => {
      try {
        file ??= open();
        file.write({ version: 1, seen: next });
      } catch (error) {
        report(error, "the node's own file cannot be remembered over a restart");
      }
    },
  };
}

/**
 * A larger file is no list of patterns but a mistake.
 * @limit Size of `node.yaml`.
 */
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

type WrittenRules = { readonly kind: 'rules' } & Readonly<z.infer<typeof LocalFile>>;

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
type FileNow =
  | { readonly kind: 'missing' }
  /** Whoever writes the file anew changes `writing`, also with the same text. */
  | { readonly kind: 'text'; readonly text: string; readonly writing: string }
  | { readonly kind: 'held'; readonly message: string };

export async function readLocalFile(path: string): Promise<FileNow> {
  try {
    // A pipe that nobody writes to must not keep the executor waiting.
    await using file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
    const stat = await file.stat({ bigint: true });
    if (!stat.isFile() && !stat.isDirectory()) return notUnderstood(path, 'it is no file');
    const { size, ino, mtimeNs, ctimeNs } = stat;
    if (size > MAX_BYTES) return notUnderstood(path, `it has more than ${MAX_BYTES} bytes`);
    return { kind: 'text', text: await file.readFile('utf8'), writing: `${ino} ${mtimeNs} ${ctimeNs}` };
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return { kind: 'missing' };
    return heldBecause(path, 'read', unreadableReason(error));
  }
}

export function parseLocalRules(path: string, text: string): LocalRules {
  const parsed = yamlValueOf(text);
  if (!parsed.ok) return notUnderstood(path, parsed.problem);
  // Also what a file looks like that somebody is just writing.
  if (parsed.value === null)
    return notUnderstood(path, 'it is empty; write "{}" where nothing is to be restricted');
  const rules = LocalFile.safeParse(parsed.value);
  return rules.success ? { kind: 'rules', ...rules.data } : notUnderstood(path, inOneLine(rules.error));
}

const inOneLine = ({ issues }: z.ZodError): string => issues.map(issueText).join('; ');

function issueText(issue: z.core.$ZodIssue): string {
  if (issue.code === 'unrecognized_keys') return issue.keys.map(noSuchSetting).join('; ');
  return `${z.core.toDotPath(issue.path) || 'the file'} ${issue.message}`;
}

const noSuchSetting = (key: string): string =>
  `there is no setting ${key}, only ${Object.keys(LocalFile.shape).join(', ')}`;

const notUnderstood = (path: string, problem: string): Extract<LocalRules, { kind: 'held' }> =>
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
const lifted = (before: WrittenRules, after: WrittenRules): readonly string[] => [
  ...(before.hold && !after.hold ? ['hold'] : []),
  ...(isRateRaised(before, after) ? ['maxRemovalsPerHour'] : []),
  ...before.keepPatterns.filter((pattern) => !after.keepPatterns.includes(pattern)),
];

const isRateRaised = (before: WrittenRules, after: WrittenRules): boolean =>
  before.maxRemovalsPerHour !== null &&
  (after.maxRemovalsPerHour === null || after.maxRemovalsPerHour > before.maxRemovalsPerHour);

const MINUTES_COUNTED = 60;

/** Removals per minute of the last hour, and of the minute in which that hour began, by minutes since boot; negative for those before it. */
export const RemovalRate = z.object({
  bootId: z.string(),
  minutes: z.array(z.object({ minute: z.int(), removals: z.int().positive() })),
  /** In which a journal was lost: what was removed within the hour before it nobody knows. */
  lostMinute: z.exactOptional(z.int()),
});
export type RemovalRate = z.infer<typeof RemovalRate>;

const minuteOf = ({ sinceBootMs }: Instant): number => Math.floor(sinceBootMs / MINUTE_MS);

/** From here on, for an hour, nobody knows how many there were. */
export const lostRate = (now: Instant): RemovalRate => ({
  bootId: now.bootId,
  minutes: [],
  lostMinute: minuteOf(now),
});

/** One more that was tried, whatever came of it. */
export function withRemoval(rate: RemovalRate, now: Instant): RemovalRate {
  const minute = minuteOf(now);
  const kept = recent(rate, now);
  const removals = (kept.minutes.find((one) => one.minute === minute)?.removals ?? 0) + 1;
  return { ...kept, minutes: [...kept.minutes.filter((one) => one.minute !== minute), { minute, removals }] };
}

/** `null` where nobody knows. */
export function removalsInLastHour(rate: RemovalRate, now: Instant): number | null {
  const { minutes, lostMinute } = recent(rate, now);
  return lostMinute === undefined ? minutes.reduce((sum, { removals }) => sum + removals, 0) : null;
}

/** How long the machine was off is not known, so removals of another boot count as if it had been for no time. */
function recent({ bootId, minutes, lostMinute }: RemovalRate, now: Instant): RemovalRate {
  const last = Math.max(0, lostMinute ?? 0, ...minutes.map(({ minute }) => minute));
  const shift = bootId === now.bootId ? 0 : -last;
  const first = minuteOf(now) - MINUTES_COUNTED;
  const isLost = lostMinute !== undefined && lostMinute + shift >= first;
  return {
    bootId: now.bootId,
    minutes: minutes
      .map(({ minute, removals }) => ({ minute: minute + shift, removals }))
      .filter(({ minute }) => minute >= first),
    ...(isLost && { lostMinute: lostMinute + shift }),
  };
}
