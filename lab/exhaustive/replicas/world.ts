import { hash } from 'node:crypto';
import { nodeOutput } from '../../../packages/decision/handler.ts';
import { image, inventory } from '../../../test/fixtures/inventory.ts';
import { instant, MINUTE } from '../../../test/fixtures/time.ts';
import { recordOf } from '../../../test/support/logs/log-record.ts';
import type { Made, World } from '../explore.ts';
import { untilAllWait } from '../waits.ts';
import { Partition } from './partition.ts';
import { Replica, unreachable } from './replica.ts';

const A = 'a';
const B = 'b';

/** Inventories of two nodes; the third is a newer one of the first, which overtakes it where both are read together. */
const INPUTS = ['web-1', 'web-2', 'web-1'].map((node, index) => {
  const takenAt = instant({ sinceBootMs: instant().sinceBootMs + index * MINUTE });
  const images = [
    image('old'),
    ...['o', 'p', 'q', 'r'].map((id) => image(id, { usedBy: [{ kind: 'container', id: 'another' }] })),
  ];
  const event = inventory({ id: `inventory-${index}`, node, takenAt, images });
  return recordOf(nodeOutput('inventory', event), { offset: BigInt(index) });
});

interface ReplicasSettings {
  /** Inputs that are there at the beginning; the others come at any moment. */
  readonly arrived: number;
  /** Publishes or commits that fail. */
  readonly failures: number;
  /** Whether the first replica may die instead of losing its partition alone. */
  readonly mayDie: boolean;
}

/**
 * One partition, and two replicas of a decision service:
 *
 * - `a`, `b`: the open wait of a replica is answered,
 * - `refuse R`, `cut R`: its request is not taken, or is taken and the answer is lost,
 * - `arrive`: the next input is there,
 * - `move`: the partition is the second replica's from now on,
 * - `notice`: the first one learns that it is to lose or has lost it, before or after,
 * - `die …`: the first one dies, its request on the way taken or not.
 */
export class ReplicasWorld implements World {
  readonly #partition: Partition;
  readonly #a: Replica;
  readonly #b: Replica;
  #isDead = false;
  #failures: number;
  readonly #mayDie: boolean;
  /** What each was answered since it fetched: with what it waits for it decides what it does next. */
  readonly #answers = new Map([
    [A, ''],
    [B, ''],
  ]);

  private constructor({ arrived, failures, mayDie }: ReplicasSettings) {
    this.#partition = new Partition(INPUTS, arrived, A);
    this.#a = new Replica(A, this.#partition);
    this.#b = new Replica(B, this.#partition);
    this.#failures = failures;
    this.#mayDie = mayDie;
  }

  static async begin(settings: ReplicasSettings): Promise<ReplicasWorld> {
    const world = new ReplicasWorld(settings);
    await untilAllWait();
    void world.#a.serve();
    await untilAllWait();
    return world;
  }

  /** Who finds nothing to read waits for what comes, so it goes on only while something is there. */
  next(): string | null {
    for (const replica of [this.#a, this.#b]) if (this.#goesOn(replica)) return replica.name;
    if (this.#partition.arrived < INPUTS.length) return 'arrive';
    return this.#partition.owner === A ? 'move' : null;
  }

  async make(move: string): Promise<Made> {
    const others = this.#possible().filter((other) => other !== move);
    const [kind = '', which = ''] = move.split(' ');
    this.#do(kind, which);
    await untilAllWait();
    for (const { name, waits } of [this.#a, this.#b])
      if (['fetch', 'wait'].includes(waits.first(name)?.name ?? '')) this.#answers.set(name, '');
    return { isPrivate: false, others };
  }

  afterRest(): readonly string[] {
    return [];
  }

  copied(): null {
    return null;
  }

  key(): string {
    const waits = [this.#a, this.#b].map((one) => one.waits.open().map(({ name }) => name));
    const state = [
      this.#partition.key(),
      [...this.#answers],
      [this.#a, this.#b].map(({ memory }) => memory),
      waits,
      [this.#a.isOver, this.#isDead, this.#failures],
    ];
    return hash('sha1', JSON.stringify(state), 'base64');
  }

  wrong(): string | null {
    return this.#partition.wrong;
  }

  wrongAtRest(): string | null {
    return this.#partition.wrongAtRest();
  }

  ending(): string {
    return this.#partition.key();
  }

  #do(kind: string, which: string): void {
    switch (kind) {
      case A:
      case B:
        this.#answer(kind);
        break;
      case 'refuse':
      case 'cut':
        this.#failures -= 1;
        this.#note(which, kind);
        this.#replica(which).waits.fail(which, unreachable(), kind === 'cut');
        break;
      case 'arrive':
        this.#partition.arrived += 1;
        break;
      case 'move':
        this.#partition.owner = B;
        void this.#b.serve();
        break;
      case 'notice':
        this.#a.lose();
        break;
      case 'die':
        if (which === 'taken') this.#a.waits.first(A)?.effect?.();
        this.#isDead = true;
        break;
      default:
        throw new Error(`no such move: ${kind}`);
    }
  }

  #answer(name: string): void {
    const wait = this.#replica(name).waits.take(name);
    if (wait.name === 'fetch') this.#answers.set(name, `${this.#partition.arrived}`);
    else this.#note(name, wait.name);
    wait.answer();
  }

  #note(name: string, what: string): void {
    this.#answers.set(name, `${this.#answers.get(name)},${what}`);
  }

  #possible(): readonly string[] {
    const { owner, arrived } = this.#partition;
    const both = [this.#a, this.#b];
    return [
      ...both.filter((one) => this.#goesOn(one)).map(({ name }) => name),
      ...(this.#failures > 0 ? both.flatMap((one) => this.#failuresOf(one)) : []),
      ...(arrived < INPUTS.length ? ['arrive'] : []),
      ...(owner === A ? ['move'] : []),
      ...(this.#a.isOver || this.#isDead ? [] : ['notice']),
      ...(this.#mayDie && !this.#isDead && !this.#a.isOver ? this.#deaths() : []),
    ];
  }

  /** A loop that found nothing would find the same again and again. */
  #goesOn({ name, waits, memory }: Replica): boolean {
    if (name === A && this.#isDead) return false;
    const wait = waits.first(name);
    return wait !== undefined && (wait.name !== 'wait' || memory.foundNothingOf !== this.#partition.arrived);
  }

  #failuresOf({ name, waits }: Replica): readonly string[] {
    if (name === A && this.#isDead) return [];
    return waits.first(name)?.effect ? [`refuse ${name}`, `cut ${name}`] : [];
  }

  #deaths(): readonly string[] {
    return this.#a.waits.first(A)?.effect ? ['die taken', 'die not'] : ['die not'];
  }

  #replica(name: string): Replica {
    return name === A ? this.#a : this.#b;
  }
}
