import { hash } from 'node:crypto';
import { toFleetGcError } from '../../../packages/process/errors.ts';
import type { Command } from '../../../schemas/events/command.ts';
import type { Made, World } from '../explore.ts';
import { untilAllWait, type Wait } from '../waits.ts';
import { Life, PUBLISHER, WORKER } from './life.ts';
import { Node, type Orphan, type Touched, untouched } from './node.ts';
import type { Scenario } from './scenario.ts';
import { Watch } from './watch.ts';

/** `remove KIND ID`. */
function orphansOf(removal: Wait | undefined): readonly Orphan[] {
  const [, kind, id = ''] = removal?.name.split(' ') ?? [];
  return kind === 'images' || kind === 'containers' ? [{ kind, id }] : [];
}

/** A process that starts again takes a while. */
const RESTART_MS = 100;

interface WorldSettings {
  readonly scenario: Scenario;
  /** Whether moves are left out that lead where others lead too. */
  readonly isReduced: boolean;
  readonly most: Most;
}

/** How often each may happen. */
export interface Most {
  crashes: number;
  repeats: number;
  pauses: number;
  policyChanges: number;
}

/**
 * One node, and whatever may happen to its executor:
 *
 * - `worker`, `publisher`: the first open wait of the removing or the publishing half is answered,
 * - `deliver`: the consumer hands over the next command of the log; a process that starts reads all of them again,
 * - `repeat N`: the N-th command comes once more,
 * - `pause`, `policy`: an operator pauses the node, or puts another policy in force,
 * - `crash …`: the process dies, with its requests on their way taken, not taken or (removals) taken later; or amid a move,
 * - `late N`: the runtime does what a dead process had asked for.
 */
export class ExecutorWorld implements World {
  readonly #settings: WorldSettings;
  readonly #node: Node;
  readonly #watch: Watch;
  #life: Life;
  #hasJustBegun = false;
  /** Commands that this life was handed. */
  #delivered = 0;
  /** What the removing half of this life has seen that others can change. */
  #seen = '';
  #left: Most;

  private constructor(settings: WorldSettings, node: Node, watch: Watch, left: Most) {
    this.#settings = settings;
    this.#node = node;
    this.#watch = watch;
    this.#left = { ...left };
    this.#life = new Life(node, watch, settings.isReduced);
  }

  static begin(settings: WorldSettings): Promise<ExecutorWorld> {
    const node = Node.of(settings.scenario);
    return begun(() => new ExecutorWorld(settings, node, new Watch(node, settings.scenario), settings.most));
  }

  next(): string | null {
    const { waits } = this.#life;
    if (waits.first(WORKER)) return WORKER;
    if (waits.first(PUBLISHER)) return PUBLISHER;
    return this.#isDelivered() ? null : 'deliver';
  }

  async make(move: string): Promise<Made> {
    const before = this.#possible();
    this.#node.touched = untouched();
    const [kind = '', ...rest] = move.split(' ');
    this.#hasJustBegun = kind === 'crash';
    await this.#do(kind, rest);
    const { touched } = this.#node;
    this.#see(kind, touched);
    const isPrivate = this.#settings.isReduced && this.#isPrivate(kind, touched);
    if (isPrivate) return { isPrivate, others: [] };
    const others = before.filter((other) => other !== move && this.#isToBeTried(other, touched));
    return { isPrivate, others: [...others, ...this.#crashesAmid(move, touched)] };
  }

  afterRest(): readonly string[] {
    return this.#possible();
  }

  key(): string {
    const { files, images, containers, clock, isPaused, policy } = this.#node;
    const { waits } = this.#life;
    const state = [
      [...files],
      [...images.keys()],
      [...containers.keys()],
      clock.now(),
      isPaused,
      policy.hash,
      this.#node.orphans,
      this.#left,
      this.#delivered,
      this.#seen,
      waits.open().map(({ of, name }) => [of, name]),
      this.#watch.key(waits.first(WORKER) === undefined),
    ];
    return hash('sha1', JSON.stringify(state), 'base64');
  }

  /** A process that has just begun has nothing in mind but what is on disk. */
  copied(): (() => Promise<ExecutorWorld>) | null {
    if (!this.#hasJustBegun) return null;
    const node = this.#node.copy();
    const watch = this.#watch.copy(node);
    const left = { ...this.#left };
    return () =>
      begun(() => {
        const own = node.copy();
        return new ExecutorWorld(this.#settings, own, watch.copy(own), left);
      });
  }

  wrong(): string | null {
    return this.#watch.wrong;
  }

  wrongAtRest(): string | null {
    return this.#watch.wrong ?? this.#watch.wrongAtRest();
  }

  ending(): string {
    const { isPaused, policy, gone, missed } = this.#node;
    return JSON.stringify([isPaused, policy.hash, gone, missed, this.#watch.endings()]);
  }

  async #do(kind: string, rest: readonly string[]): Promise<void> {
    switch (kind) {
      case WORKER:
      case PUBLISHER:
        this.#life.waits.take(kind).answer();
        break;
      case 'deliver':
        this.#delivered += 1;
        await this.#life.receive(this.#command(this.#delivered - 1));
        break;
      case 'repeat':
        this.#left.repeats -= 1;
        await this.#life.receive(this.#command(Number(rest[0])));
        break;
      case 'pause':
        this.#left.pauses -= 1;
        this.#node.isPaused = true;
        break;
      case 'policy':
        this.#left.policyChanges -= 1;
        this.#node.changePolicy();
        break;
      case 'late':
        this.#late(Number(rest[0]));
        break;
      case 'crash':
        await this.#crash(rest);
        break;
      default:
        throw new Error(`no such move: ${kind}`);
    }
    await untilAllWait();
  }

  /** All that could happen now beside what goes on by itself. */
  #possible(): readonly string[] {
    const { crashes, repeats, pauses, policyChanges } = this.#left;
    return [
      ...(this.#life.waits.first(PUBLISHER) ? [PUBLISHER] : []),
      ...(this.#isDelivered() ? [] : ['deliver']),
      ...(repeats > 0 ? Array.from({ length: this.#delivered }, (_, index) => `repeat ${index}`) : []),
      ...(pauses > 0 ? ['pause'] : []),
      ...(policyChanges > 0 ? ['policy'] : []),
      ...this.#node.orphans.map((_, index) => `late ${index}`),
      ...(crashes > 0 ? this.#fates().map((fate) => `crash ${fate}`) : []),
    ];
  }

  /** What may have become of the requests on their way when a process dies; a request that is taken late may never be. */
  #fates(): readonly string[] {
    const removal = this.#request(WORKER) ? ['taken', 'late'] : ['-'];
    const publish = this.#request(PUBLISHER) ? ['taken', 'not'] : ['-'];
    return removal.flatMap((one) => publish.map((other) => `${one} ${other}`));
  }

  #request(of: string): Wait | undefined {
    const wait = this.#life.waits.first(of);
    return wait?.effect ? wait : undefined;
  }

  /**
   * Nobody else reads or writes what the move touched, or could see that it happened: so it leads to the same state before and
   * after whatever else happens.
   */
  #isPrivate(kind: string, touched: Touched): boolean {
    if (kind !== WORKER || touched.readPolicy || touched.writes > 0 || touched.hadEffect) return false;
    return !this.#seesOrphans(touched);
  }

  #seesOrphans({ readImages, readContainers }: Touched): boolean {
    return this.#node.orphans.length > 0 && (readImages || readContainers);
  }

  /** Whether the two moves lead elsewhere the other way round; what does not can come later. */
  #isToBeTried(other: string, touched: Touched): boolean {
    if (!this.#settings.isReduced) return true;
    switch (other.split(' ')[0]) {
      case 'pause':
      case 'policy':
        return touched.readPolicy;
      case 'late':
        return this.#seesOrphans(touched);
      case 'crash':
        return touched.writes > 0 || touched.hadEffect;
      default:
        return touched.writes > 0;
    }
  }

  /** Between two writes of one move; before the first and after the last the process dies between moves. */
  #crashesAmid(move: string, { writes }: Touched): readonly string[] {
    if (this.#left.crashes === 0 || move.startsWith('crash')) return [];
    return Array.from({ length: Math.max(0, writes - 1) }, (_, index) => `crash amid ${index + 1} ${move}`);
  }

  async #crash([how = '', ...rest]: readonly string[]): Promise<void> {
    if (how === 'amid') {
      const [writes, kind = '', ...its] = rest;
      this.#life.writesLeft = Number(writes);
      await this.#do(kind, its);
    } else {
      const removal = this.#request(WORKER);
      if (how === 'taken') removal?.effect?.();
      if (how === 'late') this.#node.orphans = orphansOf(removal);
      if (rest[0] === 'taken') this.#request(PUBLISHER)?.effect?.();
    }
    this.#left.crashes -= 1;
    this.#node.clock.advance(RESTART_MS);
    this.#delivered = 0;
    this.#seen = '';
    this.#life = new Life(this.#node, this.#watch, this.#settings.isReduced);
  }

  #late(index: number): void {
    const orphan = this.#node.orphans[index];
    this.#node.orphans = this.#node.orphans.toSpliced(index, 1);
    try {
      if (orphan) this.#node.remove(orphan);
    } catch (error) {
      // Whoever came later was first, and nobody is there for the answer.
      if (toFleetGcError(error).code !== 'RUNTIME_NOT_FOUND') throw error;
    }
  }

  /**
   * What it has seen decides what it does next, as far as the open wait does not say. Where it waits for a command it has
   * nothing in mind.
   */
  #see(kind: string, touched: Touched): void {
    if (this.#life.waits.first(WORKER) === undefined) this.#seen = '';
    else if (kind === WORKER && !(this.#settings.isReduced && this.#isPrivate(kind, touched))) {
      const { isPaused, policy, gone, missed } = this.#node;
      const read = [
        touched.readPolicy && [isPaused, policy.hash],
        (touched.hadEffect || this.#seesOrphans(touched)) && [gone, missed],
      ];
      this.#seen = hash('sha1', `${this.#seen} ${JSON.stringify(read)}`, 'base64');
    }
  }

  #isDelivered(): boolean {
    return this.#delivered === this.#settings.scenario.commands.length;
  }

  #command(index: number): Command {
    const command = this.#settings.scenario.commands[index];
    if (command === undefined) throw new Error(`there is no command ${index}`);
    return command;
  }
}

async function begun(make: () => ExecutorWorld): Promise<ExecutorWorld> {
  const world = make();
  await untilAllWait();
  return world;
}
