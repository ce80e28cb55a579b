import type { Logger } from 'pino';
import { z } from 'zod';
import { sha256Hex } from '../../../../packages/canonical/ids.ts';
import type { FixedFile } from '../../../../packages/files/fixed-file.ts';
import type { NodeClock } from '../../../../packages/machine/clock.ts';
import type { StateDirectory } from '../../../../packages/machine/state-directory.ts';
import { toFleetGcError } from '../../../../packages/process/errors.ts';
import {
  type FileNow,
  type LocalRules,
  lifted,
  NO_LOCAL_RULES,
  parseLocalRules,
  readLocalFile,
  type WrittenRules,
} from './local-file.ts';

/** So long a file that restricts less has to stay as it is, since it may be half of one that is being written. */
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
