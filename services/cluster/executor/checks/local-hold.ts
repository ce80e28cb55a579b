import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs';
import type { Logger } from 'pino';
import { z } from 'zod';
import { unreadableReason } from '../../../../packages/process/options/named-file.ts';
import { yamlValueOf } from '../../../../packages/process/options/yaml-value.ts';

/** A larger file is no setting but a mistake. */
const MAX_BYTES = 65_536;

/** What the cluster's own people wrote. */
const LocalFile = z.strictObject({ hold: z.boolean({ error: 'must be true or false' }).default(false) });

/**
 * The file with which the cluster's own people hold everything, whatever policies and orders say. What is not certain holds: a file
 * that is not there, and one that nobody understands.
 */
export class LocalHold {
  readonly #path: string;
  readonly #logger: Pick<Logger, 'error' | 'info'>;
  #reported: string | null = null;

  constructor(path: string, logger: Pick<Logger, 'error' | 'info'>) {
    this.#path = path;
    this.#logger = logger;
  }

  /** Why nothing may be removed at this moment, in a sentence; `null` where it may. The log is told once of each reason. */
  objection(): string | null {
    const problem = problemIn(this.#path);
    const message = problem === null ? null : `${this.#path} holds everything: ${problem}`;
    if (message !== this.#reported) this.#report(message);
    return message;
  }

  #report(message: string | null): void {
    this.#reported = message;
    if (message === null) this.#logger.info(`${this.#path} holds nothing any more`);
    else this.#logger.error(message);
  }
}

function problemIn(path: string): string | null {
  const text = textIn(path);
  if ('problem' in text) return text.problem;
  const parsed = yamlValueOf(text.text);
  if (!parsed.ok) return parsed.problem;
  // Also what a file looks like that somebody is just writing.
  if (parsed.value === null) return 'it is empty; write "{}" where nothing is to be held';
  const rules = LocalFile.safeParse(parsed.value);
  if (!rules.success) return 'it can say "hold: true" or "hold: false", and nothing else';
  return rules.data.hold ? 'it says "hold: true"' : null;
}

function textIn(path: string): { readonly text: string } | { readonly problem: string } {
  let file: number | null = null;
  try {
    // A pipe that nobody writes to must not keep the executor waiting.
    file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    const stat = fstatSync(file);
    if (!stat.isFile()) return { problem: 'it is no file' };
    if (stat.size > MAX_BYTES) return { problem: `it has more than ${MAX_BYTES} bytes` };
    return { text: readFileSync(file, 'utf8') };
  } catch (error) {
    const isMissing = error instanceof Error && 'code' in error && error.code === 'ENOENT';
    return { problem: isMissing ? 'it is not there' : `it cannot be read: ${unreadableReason(error)}` };
  } finally {
    if (file !== null) closeSync(file);
  }
}
