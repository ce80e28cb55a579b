import { expect, test } from 'vitest';
import { detect, type ImageRecords, imageKey } from '../../../../services/node/agent/history.ts';

const image = (id: string, runtimeHandler = '') => ({ id, runtimeHandler });
const records = (entries: Record<string, [number, number | null]>): ImageRecords =>
  new Map(
    Object.entries(entries).map(([key, [firstDetectedMs, lastUsedMs]]) => [
      key,
      { firstDetectedMs, lastUsedMs },
    ]),
  );

test.each<{
  name: string;
  before?: ImageRecords;
  images: ReturnType<typeof image>[];
  inUse?: string[];
  after: ImageRecords;
}>([
  {
    name: '[C1, C3] a new image is first detected now and was never used',
    images: [image('a')],
    after: records({ a: [100, null] }),
  },
  {
    name: '[C3] a new image in use was used now',
    images: [image('a')],
    inUse: ['a'],
    after: records({ a: [100, 100] }),
  },
  {
    name: '[C7] first detected never changes while the record lives',
    before: records({ a: [40, null] }),
    images: [image('a')],
    inUse: ['a'],
    after: records({ a: [40, 100] }),
  },
  {
    name: '[C7] last used stays where the last detection saw the image in use',
    before: records({ a: [40, 60] }),
    images: [image('a')],
    after: records({ a: [40, 60] }),
  },
  {
    name: '[C3, C7] all images seen in use by one detection share one last used',
    before: records({ a: [10, 20], b: [30, null] }),
    images: [image('a'), image('b'), image('c')],
    inUse: ['a', 'b', 'c'],
    after: records({ a: [10, 100], b: [30, 100], c: [100, 100] }),
  },
  {
    name: '[C4] the record of an image that is not listed goes',
    before: records({ a: [10, 20], gone: [10, 20] }),
    images: [image('a')],
    after: records({ a: [10, 20] }),
  },
  {
    name: '[C2] one id under two runtime handlers has two records, and both are in use',
    before: records({ 'a,kata': [10, null] }),
    images: [image('a', 'kata'), image('a', 'runc')],
    inUse: ['a'],
    after: records({ 'a,kata': [10, 100], 'a,runc': [100, 100] }),
  },
])('$name', ({ before = new Map(), images, inUse = [], after }) => {
  expect(detect(before, images, new Set(inUse), 100)).toEqual(after);
});

test('[C4] an image that goes away and returns starts afresh', () => {
  const seen = detect(new Map(), [image('a')], new Set(['a']), 1);
  const without = detect(seen, [], new Set(), 2);
  expect(detect(without, [image('a')], new Set(), 3)).toEqual(records({ a: [3, null] }));
});

test('[C2] the key is the plain id where the runtime names no handler', () => {
  expect(imageKey(image('sha256:a'))).toBe('sha256:a');
  expect(imageKey(image('sha256:a', 'runc'))).toBe('sha256:a,runc');
});
