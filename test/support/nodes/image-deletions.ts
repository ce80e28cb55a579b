import { waitUntil } from '../wait-until.ts';
import { startInNode } from './node-process.ts';
import type { RealNode } from './real-node.ts';

/** As `ctr` prints an event: when it happened, to the nanosecond and in UTC, and what it says. */
const DELETION = /^(\S+) (\S+) \+0000 UTC \S+ \/images\/delete \{"name":"([^"]+)"\}/gm;
const BOUND_MS = 20_000;

/** A name that containerd does not have any more. */
export interface ImageDeletion {
  /** A tag, a digest or an id: an image of CRI has all three. */
  readonly name: string;
  /** Epoch milliseconds by the node's clock, as containerd says. */
  readonly atMs: number;
}

/** What containerd itself tells of its images, whoever deletes them. */
export interface ImageDeletions extends AsyncDisposable {
  all(): readonly ImageDeletion[];
  /** Tags whose images were deleted, in order; one that was deleted twice is there twice. */
  tags(): readonly string[];
}

/** Follows the events of a node's containerd, from now on and as long as it lives. */
export async function followImageDeletions(node: RealNode): Promise<ImageDeletions> {
  const events = await startInNode(node, ['ctr', '-a', SOCKET, '-n', 'k8s.io', 'events']);
  const all = (): readonly ImageDeletion[] =>
    [...events.output().matchAll(DELETION)].map(([, day, time, name = '']) => ({
      name,
      atMs: Date.parse(`${day}T${time}Z`),
    }));
  // A mark of our own shows that it listens: what was deleted before that would be missed.
  const mark = 'docker.io/local/mark:1';
  await waitUntil(`the events of containerd on ${node.name}`, BOUND_MS, async () => {
    await node.importImage({ name: mark });
    await node.exec(['ctr', '-a', SOCKET, '-n', 'k8s.io', 'images', 'rm', '--sync', mark]);
    return all().some(({ name }) => name === mark);
  });
  return {
    all,
    tags: () =>
      all()
        .map(({ name }) => name)
        .filter((name) => name !== mark && isTag(name)),
    [Symbol.asyncDispose]: events[Symbol.asyncDispose],
  };
}

const SOCKET = '/run/containerd/containerd.sock';
const isTag = (name: string): boolean => !name.startsWith('sha256:') && !name.includes('@');
