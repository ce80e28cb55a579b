import type { RealNode } from './real-node.ts';

const FILLER = '/disk/filler';

/** Puts a file on the node's disk so that this share of it is used; rejects where more is used already. */
export async function fillDisk(node: RealNode, percent: number, file = FILLER): Promise<void> {
  await node.exec(['sh', '-c', FILL, 'sh', String(percent), file]);
}

/** Takes the file away again. Twice is safe. */
export async function emptyDisk(node: RealNode): Promise<void> {
  await node.exec(['rm', '-f', FILLER]);
}

const FILL = `set -e
percent=$1 file=$2
set -- $(stat -f -c '%S %b %a' /disk)
fallocate -l $(( $1 * ($2 * percent / 100 - ($2 - $3)) )) "$file"`;
