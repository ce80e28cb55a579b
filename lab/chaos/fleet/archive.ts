import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import type { ArchiveEvidence } from '../judge/evidence.ts';
import { fillUp, smallFilesystem } from './small-filesystem.ts';
import { type RunVerb, verbs } from './verb.ts';

const DISK_BYTES = 64 * 1024 * 1024;
const AGAIN_MS = 1_000;
const TRIES = 10;
const PLACES = 'SELECT topic, partition, "offset" FROM records';

const Place = z.object({ topic: z.string(), partition: z.coerce.number(), offset: z.coerce.string() });

interface ArchiveSettings {
  readonly directory: string;
  readonly program: string;
  /** Of whoever archives. */
  readonly environment: Readonly<Record<string, string>>;
}

/** An archive of the log, on a small filesystem of its own; there is none before somebody archives. */
export class Archive implements AsyncDisposable {
  /** Of its filesystem. */
  readonly disk: string;
  readonly #program: string;
  readonly #environment: Readonly<Record<string, string>>;
  readonly #run: RunVerb;
  #mounted: Promise<AsyncDisposable> | null = null;
  #last: Promise<void> = Promise.resolve();

  constructor({ directory, program, environment }: ArchiveSettings) {
    this.disk = join(directory, 'archive');
    this.#program = program;
    this.#environment = environment;
    this.#run = verbs(program, environment);
  }

  /** Nothing is left of its disk, for longer than a file needs; what is returned gives it back. */
  async fill(): Promise<() => void> {
    await this.#mount();
    return fillUp(this.disk);
  }

  /** Begins a pass; returns what kills it, or waits for its end. One after the other, as with a timer. */
  async pass(): Promise<{ readonly kill: () => void; readonly ended: () => Promise<void> }> {
    await this.#mount();
    await this.#last;
    const child = spawn(this.#program, ['audit', 'archive', '--to', this.#files], {
      env: this.#environment,
      stdio: 'ignore',
    });
    this.#last = endOf(child);
    return { kill: () => void child.kill('SIGKILL'), ended: () => this.#last };
  }

  /** What came of it, after a last pass, which the log has to be there for; `null` where nobody archived. */
  async evidence(): Promise<ArchiveEvidence | null> {
    if (this.#mounted === null) return null;
    await this.#last;
    const archived = await this.#untilDone(['audit', 'archive', '--to', this.#files]);
    const check = await this.#run(['audit', 'archive', 'check', '--archive', this.#files, '-o', 'json']);
    const rows = await this.#run(['audit', 'query', PLACES, '--archive', this.#files, '-o', 'ndjson']);
    const problems = [archived, check, rows].flatMap(({ exitCode, stdout, stderr }) =>
      exitCode === 0 ? [] : [`exit code ${exitCode}: ${stdout.slice(0, SHOWN)} ${stderr.slice(0, SHOWN)}`],
    );
    const places = rows.stdout
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => Place.parse(JSON.parse(line)))
      .map(({ topic, partition, offset }) => `${topic}/${partition}@${offset}`);
    return { problems, places };
  }

  async #mount(): Promise<void> {
    this.#mounted ??= smallFilesystem(this.disk, DISK_BYTES);
    await this.#mounted;
  }

  get #files(): string {
    return join(this.disk, 'files');
  }

  /** A pass that was killed may be held to be under way for a moment. */
  async #untilDone(args: readonly string[]): ReturnType<RunVerb> {
    for (let tries = 1; ; tries += 1) {
      const ended = await this.#run(args);
      if (ended.exitCode === 0 || tries === TRIES) return ended;
      await sleep(AGAIN_MS);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#last;
    await (await this.#mounted)?.[Symbol.asyncDispose]();
  }
}

const SHOWN = 500;

async function endOf(child: ChildProcess): Promise<void> {
  await once(child, 'exit');
}
