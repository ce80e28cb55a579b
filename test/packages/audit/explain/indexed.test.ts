import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { ImageRemoval } from '../../../../schemas/events/command.ts';
import type { InventoryImage } from '../../../../schemas/events/inventory.ts';
import { container, image, podLogDirectory, sandbox } from '../../../fixtures/inventory.ts';
import { NOW, SECOND } from '../../../fixtures/time.ts';
import { runs } from '../../../support/property-runs.ts';
import { answered, at, explained, type Logged, look, ordered, removed } from './support/recorded-log.ts';

const [FIRST, SECOND_ID] = ['abcdef01', 'abcdef02'].map(
  (beginning) => `sha256:${beginning.padEnd(64, '0')}`,
) as [string, string];
const pod = { uid: 'pod-7', name: 'web-1', namespace: 'shop' };
const objects = {
  containers: [container('0123456789ab', { name: 'app', pod })],
  sandboxes: [sandbox('ba9876543210', { podUid: pod.uid, pod })],
  podLogDirectories: [podLogDirectory('shop_gone_pod-8')],
};
const images: readonly InventoryImage[] = [
  image(FIRST, { repoTags: ['shop/web:1'] }),
  image(FIRST, { repoTags: ['shop/web:2'], repoDigests: [] }),
  image(SECOND_ID, { repoTags: ['shop/web:1'] }),
];

/** Something that happens on a node, so many seconds after what happened before. */
type Happening = (seconds: number, where: { readonly node: string }) => Logged;

const happening = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({ listed: fc.subarray([...images], { maxLength: 2 }), whole: fc.boolean() }).map(
      ({ listed, whole }): Happening =>
        (seconds, where) =>
          look(seconds, { ...where, images: uniqueById(listed), ...(whole && objects) }),
    ),
  },
  fc.constantFrom('removed', 'not-found').map(
    (outcome): Happening =>
      (seconds, where) =>
        answered(seconds, FIRST, outcome === 'removed' ? removed(10) : { outcome: 'not-found' }, where),
  ),
  fc.constant<Happening>((seconds, where) => ordered(seconds, FIRST, where as Partial<ImageRemoval>)),
  fc.constant<Happening>((seconds, where) => {
    const [, output] = look(seconds, where);
    return [seconds, output, Buffer.from('{"type":')];
  }),
);

const uniqueById = (listed: readonly InventoryImage[]): InventoryImage[] => [
  ...new Map(listed.map((one) => [one.id, one])).values(),
];

const history = fc
  .array(fc.tuple(fc.constantFrom(1, 30, 90), fc.constantFrom('web-1', 'web-2'), happening), {
    maxLength: 14,
  })
  .map((steps) => {
    let seconds = 0;
    return steps.map(([later, node, happens]) => {
      seconds += later;
      return happens(seconds, { node });
    });
  });

const NAMES = [
  'web',
  'shop/web:1',
  'web:2',
  'abcdef',
  FIRST,
  'app',
  'web-1',
  'sandbox/web-1',
  'shop_gone_pod-8',
  'node/web-2',
  'prod/web-2',
  'nobody',
];

test('an index of names changes no answer, whatever happened and whatever is asked', async () => {
  const time = fc.option(fc.integer({ min: 0, max: 600 }).map((seconds) => NOW + seconds * SECOND));
  const asked = fc.record({
    name: fc.constantFrom(...NAMES),
    node: fc.constantFrom(null, null, 'web-2', 'prod/web-2'),
    range: fc.record({ fromMs: time, toMs: time }),
    thereOnly: fc.boolean(),
  });
  await fc.assert(
    fc.asyncProperty(history, asked, async (events, request) => {
      await explained(events, request);
    }),
    runs(300),
  );
});

const listed = { images: [image(FIRST, { repoTags: ['shop/web:1'] })] };

test.each<{ name: string; events: readonly Logged[] }>([
  {
    name: 'a look that was taken before the removal comes after it',
    events: [look(0, listed), answered(30, FIRST, removed(10)), look(40, { ...listed, takenAt: at(20) })],
  },
  {
    name: 'of several results the last says what became of it',
    events: [
      look(0, listed),
      answered(30, FIRST, { outcome: 'not-found' }),
      answered(60, FIRST, removed(10)),
    ],
  },
])('also told from the index: $name', async ({ events }) => {
  const elsewhere = look(70, { ...listed, node: 'web-2' });

  expect(await explained([...events, elsewhere], 'web')).toMatchObject({
    candidates: [{ state: 'removed' }, { state: 'there' }],
  });
});
