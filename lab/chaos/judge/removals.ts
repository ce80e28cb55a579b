import type { Evidence } from './evidence.ts';
import { type ContainerLife, type History, historyOf, type ImageLife, type SandboxLife } from './history.ts';

interface Removal {
  readonly node: string;
  readonly id: string;
  readonly goneMs: number;
  /** When the call came in that removed it: it may have hung. */
  readonly askedMs: number;
}

export interface ImageRemoval extends Removal {
  readonly kind: 'image';
  readonly life: ImageLife;
  readonly usedPercentBefore: number;
}
export interface ContainerRemoval extends Removal {
  readonly kind: 'container';
  readonly life: ContainerLife;
}
interface SandboxRemoval extends Removal {
  readonly kind: 'sandbox';
  readonly life: SandboxLife;
}
export type AnyRemoval = ImageRemoval | ContainerRemoval | SandboxRemoval;

export interface JudgedNode {
  readonly name: string;
  readonly history: History;
  /** By calls over CRI's socket alone; what the node's own life took is nobody's removal. */
  readonly removals: readonly AnyRemoval[];
}

export const judgedNodes = ({ nodes }: Pick<Evidence, 'nodes'>): readonly JudgedNode[] =>
  nodes.map(({ name, truth }) => {
    const history = historyOf(truth);
    return { name, history, removals: removalsOf(name, history) };
  });

function removalsOf(node: string, history: History): readonly AnyRemoval[] {
  const { images, containers, sandboxes, asked } = history;
  const about = (id: string, goneMs: number): Removal => ({
    node,
    id,
    goneMs,
    askedMs: asked.findLast((ask) => namesThe(id, ask.id) && ask.atMs <= goneMs)?.atMs ?? goneMs,
  });
  return [
    ...images.flatMap((life): ImageRemoval[] => {
      if (life.gone?.by !== 'cri') return [];
      const { atMs, usedPercentBefore } = life.gone;
      return [{ kind: 'image', life, usedPercentBefore, ...about(life.id, atMs) }];
    }),
    ...containers.flatMap((life): ContainerRemoval[] =>
      life.gone?.by === 'cri' ? [{ kind: 'container', life, ...about(life.line.id, life.gone.atMs) }] : [],
    ),
    ...sandboxes.flatMap((life): SandboxRemoval[] =>
      life.gone?.by === 'cri' ? [{ kind: 'sandbox', life, ...about(life.id, life.gone.atMs) }] : [],
    ),
  ];
}

const namesThe = (id: string, asked: string): boolean => id === asked || id === `sha256:${asked}`;
