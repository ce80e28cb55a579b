import { expect, test } from 'vitest';
import type { ListedImage } from '../../../../packages/cri/listing-types.ts';
import { nodeOutput } from '../../../../packages/decision/handler.ts';
import {
  MAX_MEMBERS,
  MAX_UNUSUAL_MEMBERS,
  USUAL_NAMES,
} from '../../../../packages/records/parse/json-bounds.ts';
import { parseRecord } from '../../../../packages/records/parse/parse-record.ts';
import type { Inventory, InventoryPod } from '../../../../schemas/events/inventory.ts';
import { TOPICS } from '../../../../schemas/events/topics.ts';
import { type InventoryParts, inventoryOf } from '../../../../services/node/agent/event.ts';
import { pod } from '../../../fixtures/inventory.ts';
import { completeListing, runtimeImage } from '../../../fixtures/listing.ts';
import { completeScan, inventoryHeader, NO_PARTS } from '../../../fixtures/node-scan.ts';
import { recordOf } from '../../../support/logs/log-record.ts';

const many = <T>(count: number, make: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, index) => make(index));

interface Seen {
  readonly images?: readonly ListedImage[];
  readonly pods?: readonly InventoryPod[];
  readonly layers?: InventoryParts['layers'];
}

/** The inventory of an agent that sees this on its node. */
function inventoryFor({ images = [], pods = [], layers = null }: Seen): Inventory {
  const listing = completeListing({ images: [...images] });
  return inventoryOf(
    { ...inventoryHeader, commandVersions: [1] },
    completeScan({ listing, pods: [...pods] }),
    { ...NO_PARTS, layers },
  );
}

const isRead = (inventory: Inventory): boolean =>
  parseRecord('inventory', recordOf(nodeOutput('inventory', inventory))).ok;

const labelled = (images: number, labels: number): readonly ListedImage[] =>
  many(images, (at) =>
    runtimeImage(`i${at}`, {
      labels: Object.fromEntries(many(labels, (index) => [`l${labels * at + index}`, ''])),
    }),
  );
const { bounds } = TOPICS.inventory;

test.each<{ name: string; seen: Seen; status: Inventory['status'] }>([
  {
    name: 'an image with as many labels as are read',
    seen: { images: labelled(1, MAX_MEMBERS) },
    status: 'complete',
  },
  { name: 'an image with one more', seen: { images: labelled(1, MAX_MEMBERS + 1) }, status: 'too-large' },
  {
    name: 'labels of more names than are read',
    seen: { images: labelled(30, Math.ceil((USUAL_NAMES + MAX_UNUSUAL_MEMBERS + 1) / 30)) },
    status: 'too-large',
  },
  {
    name: 'more names of images than there may be elements',
    seen: { images: [runtimeImage('a', { repoTags: new Array<string>(bounds.elements).fill('a') })] },
    status: 'too-large',
  },
  {
    name: 'texts that are small when they are compressed, and too large then',
    seen: { images: [runtimeImage('a', { repoTags: ['x'.repeat(bounds.bytes)] })] },
    status: 'too-large',
  },
  {
    name: 'more pods than a list may have',
    seen: { pods: many(20_001, (index) => pod(`uid-${index}`)) },
    status: 'incomplete',
  },
])('of a node with $name an inventory is published that is read', ({ seen, status }) => {
  const inventory = inventoryFor(seen);
  expect({ status: inventory.status, isRead: isRead(inventory) }).toEqual({ status, isRead: true });
});

test('layers of which there may not be so many are left out, and nothing else', () => {
  const image = runtimeImage('app');
  const layer = { kind: 'blob', digest: 'a', sizeBytes: 1 } as const;
  const layers = {
    layers: new Array<typeof layer>(bounds.elements / 3).fill(layer),
    ofImage: new Map([[image.id, [0]]]),
  };
  const inventory = inventoryFor({ images: [image], layers });
  expect(inventory).toMatchObject({ status: 'complete', layers: null });
  expect(isRead(inventory)).toBe(true);
});

test('an inventory that is incomplete, since it would not be read, says what is wrong', () => {
  expect(inventoryFor({ pods: many(20_001, (index) => pod(`uid-${index}`)) })).toMatchObject({
    problems: [
      {
        code: 'value-out-of-range',
        message: expect.stringMatching(/^No decision service would read this inventory: pods: .*20000/),
      },
    ],
  });
});
