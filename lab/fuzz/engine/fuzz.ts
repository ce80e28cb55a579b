import { setImmediate } from 'node:timers/promises';
import { seededRandom } from '../../sim/random.ts';
import { Choices } from '../mutate/choices.ts';
import type { Json } from '../mutate/json.ts';
import { type Manner, mutated } from '../mutate/mutate.ts';
import { Dictionary } from '../mutate/values.ts';
import { Coverage } from './coverage.ts';
import { Findings, type Found } from './findings.ts';
import type { Outcome, Read, Target } from './target.ts';

export interface Campaign {
  readonly seed: number;
  readonly runs: number;
  /** A run that takes longer ends earlier. */
  readonly forMs: number;
  /** What was kept of earlier campaigns. */
  readonly corpus: readonly Json[];
  /** Whether to end with the first crash or effect. */
  readonly stopAtFirst: boolean;
  readonly onProgress: (account: Account) => void;
}

/** What came of one target. */
export interface Account {
  readonly runs: number;
  readonly passed: number;
  readonly blocks: number;
  readonly corpus: number;
  readonly crashes: number;
  readonly effects: number;
  readonly tooSlow: number;
  readonly slowestMs: number;
  /** Branches that the input took that took most of them. */
  readonly mostWork: number;
  readonly tookMs: number;
}

export interface Fuzzed {
  readonly account: Account;
  readonly found: readonly Found[];
  /** In the order in which they came: each reached something that those before it did not. */
  readonly corpus: readonly Json[];
  readonly slowest: Json;
}

interface Kept {
  readonly input: Json;
  /** Characters. */
  readonly size: number;
}

/** At least this share passes; below it inputs are changed with more care. */
const WANTED_SHARE = 0.45;
const PROGRESS_EVERY_MS = 10_000;
const TURN_EVERY_RUNS = 500;

/** Gives the target one changed input after the other, and keeps those that reach something new. */
export async function fuzz(target: Target, campaign: Campaign): Promise<Fuzzed> {
  return await new Fuzzing(target, campaign).run(await target.open());
}

class Fuzzing {
  readonly #target: Target;
  readonly #campaign: Campaign;
  readonly #choices: Choices;
  readonly #dictionary = new Dictionary();
  readonly #coverage = new Coverage(globalThis.fleetgcFuzz);
  readonly #findings = new Findings();
  readonly #kept: Kept[] = [];
  readonly #keptPassed: Kept[] = [];
  readonly #begunMs = performance.now();
  #runs = 0;
  #passed = 0;
  #mostWork = 0;

  constructor(target: Target, campaign: Campaign) {
    this.#target = target;
    this.#campaign = campaign;
    this.#choices = new Choices(seededRandom(campaign.seed));
  }

  async run(read: Read): Promise<Fuzzed> {
    const { corpus, onProgress } = this.#campaign;
    const first = [...this.#target.seeds(), ...corpus];
    for (const input of first) this.#dictionary.learn(input);
    for (const input of first) await this.#try(input, read, true);
    let toldMs = this.#begunMs;
    while (!this.#isOver()) {
      await this.#try(this.#next(), read, false);
      if (this.#runs % TURN_EVERY_RUNS !== 0) continue;
      await setImmediate();
      if (performance.now() - toldMs < PROGRESS_EVERY_MS) continue;
      toldMs = performance.now();
      onProgress(this.#account());
    }
    return {
      account: this.#account(),
      found: this.#findings.found,
      corpus: this.#kept.map(({ input }) => input),
      slowest: this.#findings.slowest,
    };
  }

  #isOver(): boolean {
    const { runs, forMs, stopAtFirst } = this.#campaign;
    if (stopAtFirst && this.#findings.any) return true;
    return this.#runs >= runs || performance.now() - this.#begunMs >= forMs;
  }

  /** One that was kept, with a few changes. */
  #next(): Json {
    const isShort = this.#passed < this.#runs * WANTED_SHARE;
    const from =
      this.#keptPassed.length > 0 && (isShort || this.#choices.chance(0.7)) ? this.#keptPassed : this.#kept;
    const changes = 1 + this.#choices.below(isShort ? 2 : 5);
    let { input } = this.#smallerOf(from);
    for (let change = 0; change < changes; change += 1)
      input = mutated(input, this.#target.schema, {
        choices: this.#choices,
        dictionary: this.#dictionary,
        manner: this.#manner(isShort),
      });
    return input;
  }

  /** What is small is quick. */
  #smallerOf(from: readonly Kept[]): Kept {
    const [one, other] = [this.#choices.of(from), this.#choices.of(from)];
    return one.size < other.size ? one : other;
  }

  #manner(isShort: boolean): Manner {
    return this.#choices.chance(isShort ? 0.03 : 0.35) ? 'wild' : 'gentle';
  }

  async #try(input: Json, read: Read, isFirst: boolean): Promise<void> {
    this.#coverage.begin();
    const before = process.threadCpuUsage();
    const outcome = await this.#outcomeOf(input, read);
    const tookMs = cpuMs(before);
    const { isNew, work } = this.#coverage.end();
    this.#runs += 1;
    this.#mostWork = Math.max(this.#mostWork, work);
    if (this.#findings.isTooSlow(tookMs)) await this.#again(input, read);
    else this.#findings.took(input, tookMs);
    if (outcome?.passed) this.#passed += 1;
    if (outcome?.effect != null) this.#findings.add({ kind: 'effect', what: outcome.effect, input });
    // There has to be one to begin with.
    const isNeeded = isFirst && (!this.#coverage.isKnown || this.#kept.length === 0);
    if (!isNew && !isNeeded) return;
    const kept = { input, size: JSON.stringify(input).length };
    this.#kept.push(kept);
    if (outcome?.passed) this.#keptPassed.push(kept);
    this.#dictionary.learn(input);
  }

  async #outcomeOf(input: Json, read: Read): Promise<Outcome | null> {
    try {
      return await withoutStacks(input, read);
    } catch (error) {
      const what = crashText(await sameWithStack(error, input, read));
      this.#findings.add({ kind: 'crash', what, input });
      return null;
    }
  }

  /** Memory may have been tidied up meanwhile: only what is slow each time is slow. */
  async #again(input: Json, read: Read): Promise<void> {
    const times: number[] = [];
    for (let again = 0; again < 3; again += 1) {
      const before = process.threadCpuUsage();
      await this.#outcomeOf(input, read);
      times.push(cpuMs(before));
    }
    this.#coverage.begin();
    this.#findings.took(input, Math.min(...times));
  }

  #account(): Account {
    return {
      runs: this.#runs,
      passed: this.#passed,
      blocks: this.#coverage.blocks,
      corpus: this.#kept.length,
      ...this.#findings.counts(),
      mostWork: this.#mostWork,
      tookMs: performance.now() - this.#begunMs,
    };
  }
}

/** To note where an error comes from takes longer than most inputs take, and of nearly all errors nobody asks. */
async function withoutStacks(input: Json, read: Read): Promise<Outcome> {
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0;
  try {
    const answer = read(input);
    return answer instanceof Promise ? await answer : answer;
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
}

/** What an input throws when it is read once more, or the error itself where it throws nothing then. */
async function sameWithStack(error: unknown, input: Json, read: Read): Promise<unknown> {
  try {
    await read(input);
    return error;
  } catch (again) {
    return again;
  }
}

/** Of this thread: that others keep the machine busy says nothing of an input. */
function cpuMs(since: NodeJS.CpuUsage): number {
  const { user, system } = process.threadCpuUsage(since);
  return (user + system) / 1_000;
}

const crashText = (error: unknown): string =>
  error instanceof Error ? (error.stack ?? error.message).split('\n').slice(0, 8).join('\n') : String(error);
