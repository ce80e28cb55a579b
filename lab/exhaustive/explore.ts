/** What a move did, as far as it decides what must be tried in its place. */
export interface Made {
  /** Nobody but who made it can tell whether it happened yet, so nothing need be tried before it. */
  readonly isPrivate: boolean;
  /** Moves that lead elsewhere when they come before it. */
  readonly others: readonly string[];
}

/**
 * A world in which nothing happens by itself: the code under test waits for what is outside of it, and one move answers one
 * of its waits, or is something that happens around it.
 */
export interface World {
  /** The move that is made where none is chosen; `null` when all has come to rest. */
  next(): string | null;
  /** Makes a move, and lets the code run until all of it waits again. */
  make(move: string): Promise<Made>;
  /** What may still happen to a world at rest. */
  afterRest(): readonly string[];
  /** All that decides what can happen from here on, and what would be wrong then. */
  key(): string;
  /** A world that is as this one is now; `null` where the code under test has something in mind that nobody can copy. */
  copied(): (() => Promise<World>) | null;
  /** What was wrong in any move so far; `null` where nothing was. */
  wrong(): string | null;
  /** What is missing now that all has come to rest; `null` where nothing is. */
  wrongAtRest(): string | null;
  /** How it ended, as far as anybody can see, without its times. */
  ending(): string;
}

export interface Violation {
  readonly problem: string;
  /** The moves that led there, with the answers in their row left out. */
  readonly path: readonly string[];
}

export interface Explored {
  /** Different states in which something could happen that others notice. */
  readonly states: number;
  /** Ways through these states from the beginning to a rest. */
  readonly interleavings: bigint;
  /** Times that the code was run from its beginning. */
  readonly runs: number;
  /** Moves made in all of them. */
  readonly moves: number;
  readonly tookMs: number;
  /** All ways in which it ended. */
  readonly endings: ReadonlySet<string>;
  /** One of each kind. */
  readonly violations: readonly Violation[];
  /** Whether the search ended because there was nothing left, and not at its bound. */
  readonly isComplete: boolean;
}

export interface Bounds {
  /** The first violation is enough. */
  readonly stopAtFirst?: boolean;
  readonly mostMs?: number;
}

/** Where a way begins. */
interface Origin {
  readonly begin: () => Promise<World>;
  /** The moves that led there. */
  readonly path: readonly string[];
}

/** A way that leaves another one: moves from an origin on, the last of which is another than the one made there by itself. */
interface Turn {
  readonly origin: Origin;
  readonly moves: readonly string[];
  /** Of the state in which it leaves. */
  readonly key: string;
}

const BEGIN = 'begin';

/** Searches a world through, depth first: each way begins anew and repeats the choices that led to where it leaves another one. */
export class Explorer {
  readonly #bounds: Bounds;
  readonly #after = new Map<string, Set<string>>([[BEGIN, new Set()]]);
  readonly #rests = new Set<string>();
  readonly #endings = new Set<string>();
  readonly #violations = new Map<string, Violation>();
  readonly #left: Turn[];
  #runs = 0;
  #moves = 0;

  constructor(begin: () => Promise<World>, bounds: Bounds = {}) {
    this.#bounds = bounds;
    this.#left = [{ origin: { begin, path: [] }, moves: [], key: BEGIN }];
  }

  async explore(): Promise<Explored> {
    const { stopAtFirst = false, mostMs = Number.POSITIVE_INFINITY } = this.#bounds;
    const startMs = performance.now();
    const isEnough = (): boolean => stopAtFirst && this.#violations.size > 0;
    while (!isEnough() && performance.now() - startMs < mostMs) {
      const turn = this.#left.pop();
      if (turn === undefined) break;
      await this.#follow(turn);
    }
    return {
      states: this.#after.size,
      interleavings: countWays(this.#after, this.#rests),
      runs: this.#runs,
      moves: this.#moves,
      tookMs: Math.round(performance.now() - startMs),
      endings: this.#endings,
      violations: [...this.#violations.values()],
      isComplete: this.#left.length === 0 && !isEnough(),
    };
  }

  async #follow({ origin, moves, key }: Turn): Promise<void> {
    this.#runs += 1;
    const world = await origin.begin();
    for (const move of moves.slice(0, -1)) await world.make(move);
    this.#moves += moves.length;
    let place: Place = { origin, moves: moves.slice(0, -1), key };
    const turn = moves.at(-1);
    let next = turn === undefined ? place : this.#moved(world, place, turn, await world.make(turn));
    while (next !== null) {
      place = next;
      const move = world.next();
      if (move === null) return this.#rest(world, place);
      this.#moves += 1;
      const made = await world.make(move);
      for (const other of made.others) this.#left.push(turnFrom(place, other));
      next = this.#moved(world, place, move, made);
    }
  }

  /** Where a move led; `null` where nothing is to be found from there on. */
  #moved(
    world: World,
    { origin, moves, key: before }: Place,
    move: string,
    { isPrivate }: Made,
  ): Place | null {
    const made = [...moves, move];
    if (this.#isWrong(world.wrong(), [...origin.path, ...made])) return null;
    if (isPrivate) return { origin, moves: made, key: before };
    const key = world.key();
    this.#after.get(before)?.add(key);
    if (this.#after.has(key)) return null;
    this.#after.set(key, new Set());
    const begin = world.copied();
    if (begin === null) return { origin, moves: made, key };
    return { origin: { begin, path: [...origin.path, ...made] }, moves: [], key };
  }

  #rest(world: World, place: Place): void {
    this.#rests.add(place.key);
    this.#endings.add(world.ending());
    this.#isWrong(world.wrongAtRest(), [...place.origin.path, ...place.moves]);
    for (const move of world.afterRest()) this.#left.push(turnFrom(place, move));
  }

  #isWrong(problem: string | null, path: readonly string[]): boolean {
    if (problem === null) return false;
    if (!this.#violations.has(problem)) this.#violations.set(problem, { problem, path: inShort(path) });
    return true;
  }
}

/** A state on a way, and how to come there. */
type Place = Turn;

const turnFrom = ({ origin, moves, key }: Place, move: string): Turn => ({
  origin,
  moves: [...moves, move],
  key,
});

function inShort(path: readonly string[]): string[] {
  const short: string[] = [];
  let row = 0;
  for (const [index, move] of path.entries()) {
    row += 1;
    if (path[index + 1] === move) continue;
    short.push(row > 1 ? `${move} x${row}` : move);
    row = 0;
  }
  return short;
}

/** No state comes twice on one way: each move uses up something, so the states are no ring. */
function countWays(after: ReadonlyMap<string, ReadonlySet<string>>, rests: ReadonlySet<string>): bigint {
  const ways = new Map<string, bigint>();
  const left = [BEGIN];
  for (let key = left.at(-1); key !== undefined; key = left.at(-1)) {
    const following = [...(after.get(key) ?? [])];
    const unknown = following.filter((one) => !ways.has(one));
    if (unknown.length === 0) {
      const through = following.reduce((sum, one) => sum + (ways.get(one) ?? 0n), 0n);
      ways.set(key, through + (rests.has(key) ? 1n : 0n));
      left.pop();
    } else left.push(...unknown);
  }
  return ways.get(BEGIN) ?? 0n;
}
