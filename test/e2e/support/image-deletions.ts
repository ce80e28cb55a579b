import type { ContainerdNode } from '../../support/containerd-node.ts';
import { startInNode } from '../../support/node-process.ts';
import { waitUntil } from '../../support/wait-until.ts';

const DELETION = / \/images\/delete \{"name":"([^"]+)"\}/g;
const BOUND_MS = 20_000;

/** What containerd itself tells of its images, whoever deletes them. */
export interface ImageDeletions extends AsyncDisposable {
  /** Tags whose images were deleted, in order; one that was deleted twice is there twice. */
  tags(): readonly string[];
}

/** Follows the events of a node's containerd, from now on and as long as it lives. */
export async function followImageDeletions(node: ContainerdNode): Promise<ImageDeletions> {
  const events = await startInNode(node, ['ctr', '-a', SOCKET, '-n', 'k8s.io', 'events']);
  const deleted = (): readonly string[] =>
    [...events.output().matchAll(DELETION)].flatMap(([, name]) => name ?? []);
  // A mark of our own shows that it listens: what was deleted before that would be missed.
  const mark = 'docker.io/local/mark:1';
  await waitUntil(`the events of containerd on ${node.name}`, BOUND_MS, async () => {
    await node.importImage({ name: mark });
    await node.exec(['ctr', '-a', SOCKET, '-n', 'k8s.io', 'images', 'rm', '--sync', mark]);
    return deleted().includes(mark);
  });
  return {
    tags: () => deleted().filter((name) => name !== mark && isTag(name)),
    [Symbol.asyncDispose]: events[Symbol.asyncDispose],
  };
}

const SOCKET = '/run/containerd/containerd.sock';
/** An image of CRI has three names: its tag, its digest and its id. */
const isTag = (name: string): boolean => !name.startsWith('sha256:') && !name.includes('@');
