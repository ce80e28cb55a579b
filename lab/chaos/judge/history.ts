import type { TruthLine } from '../truth.ts';

type Line<Kind extends TruthLine['kind']> = Extract<TruthLine, { readonly kind: Kind }>;

/** An image from when it was listed until it went; one that comes back has another life. */
export interface ImageLife {
  readonly id: string;
  readonly fromMs: number;
  names: readonly string[];
  pinned: boolean;
  gone: Line<'image-gone'> | null;
}

export interface ContainerLife {
  readonly line: Line<'container'>;
  /** Since when it runs, or does not. */
  runs: { readonly running: boolean; readonly sinceMs: number };
  gone: Line<'container-gone'> | null;
}

export interface SandboxLife {
  readonly id: string;
  readonly namespace: string;
  ready: { readonly is: boolean; readonly sinceMs: number };
  gone: Line<'sandbox-gone'> | null;
}

/** What was on a node, and when. */
export interface History {
  readonly images: readonly ImageLife[];
  readonly containers: readonly ContainerLife[];
  readonly sandboxes: readonly SandboxLife[];
  readonly asked: readonly Line<'asked'>[];
  /** Calls by number, with whether they were told to have succeeded. */
  readonly answered: ReadonlyMap<number, Line<'answered'>>;
  readonly usedPercent: number;
  /** What became free by other hands than a removal. */
  readonly freedByOthers: readonly { readonly atMs: number; readonly percent: number }[];
}

export function historyOf(truth: readonly TruthLine[]): History {
  return {
    images: imageLives(truth),
    containers: containerLives(truth),
    sandboxes: sandboxLives(truth),
    asked: truth.filter((line) => line.kind === 'asked'),
    answered: new Map(
      truth.flatMap((line) => (line.kind === 'answered' ? [[line.call, line] as const] : [])),
    ),
    freedByOthers: freedByOthers(truth),
    usedPercent: truth.findLast((line) => line.kind === 'disk')?.usedPercent ?? 0,
  };
}

function freedByOthers(truth: readonly TruthLine[]): History['freedByOthers'] {
  let used = 0;
  return truth.flatMap((line, index) => {
    if (line.kind !== 'disk') return [];
    const percent = used - line.usedPercent;
    used = line.usedPercent;
    const before = truth[index - 1];
    const isRemoval = before?.kind === 'image-gone' && before.by === 'cri';
    return percent > 0 && !isRemoval ? [{ atMs: line.atMs, percent }] : [];
  });
}

function imageLives(truth: readonly TruthLine[]): readonly ImageLife[] {
  const all: ImageLife[] = [];
  const living = (id: string): ImageLife | undefined =>
    all.findLast((life) => life.id === id && life.gone === null);
  for (const line of truth) {
    if (line.kind === 'image') listImage(all, living(line.id), line);
    const life = line.kind === 'image-gone' ? living(line.id) : undefined;
    if (life && line.kind === 'image-gone') life.gone = line;
  }
  return all;
}

function listImage(all: ImageLife[], known: ImageLife | undefined, line: Line<'image'>): void {
  const { id, atMs, names, pinned } = line;
  if (known) Object.assign(known, { names, pinned });
  else all.push({ id, fromMs: atMs, names, pinned, gone: null });
}

const containerLives = (truth: readonly TruthLine[]): readonly ContainerLife[] =>
  truth.filter((line) => line.kind === 'container').map((line) => containerLife(line, aboutThe(truth, line)));

function containerLife(line: Line<'container'>, lines: readonly TruthLine[]): ContainerLife {
  const life: ContainerLife = { line, runs: { running: false, sinceMs: line.atMs }, gone: null };
  for (const later of lines) {
    if (later.kind === 'container-gone') life.gone = later;
    if (later.kind === 'container-state' && later.running !== life.runs.running)
      life.runs = { running: later.running, sinceMs: later.atMs };
  }
  return life;
}

const sandboxLives = (truth: readonly TruthLine[]): readonly SandboxLife[] =>
  truth
    .filter((line) => line.kind === 'sandbox')
    .filter((line, index, all) => all.findIndex(({ id }) => id === line.id) === index)
    .map((line) => sandboxLife(line, aboutThe(truth, line)));

function sandboxLife(
  { id, namespace, ready, atMs }: Line<'sandbox'>,
  lines: readonly TruthLine[],
): SandboxLife {
  const life: SandboxLife = { id, namespace, ready: { is: ready, sinceMs: atMs }, gone: null };
  for (const later of lines) {
    if (later.kind === 'sandbox-gone') life.gone = later;
    if (later.kind === 'sandbox' && later.ready !== life.ready.is)
      life.ready = { is: later.ready, sinceMs: later.atMs };
  }
  return life;
}

/** Ids of runtimes never come again, but for those of images. */
const aboutThe = (truth: readonly TruthLine[], { id }: { readonly id: string }): readonly TruthLine[] =>
  truth.filter((line) => 'id' in line && line.id === id);
