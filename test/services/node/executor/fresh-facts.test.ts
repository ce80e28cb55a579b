import { expect, test } from 'vitest';
import { imageUsage } from '../../../../packages/cri/usage.ts';
import { freshFacts, type MayGo } from '../../../../services/node/executor/judge.ts';
import { completeListing } from '../../../fixtures/listing.ts';
import { manualClock } from '../../../support/manual-clock.ts';
import { image } from './support/looked.ts';

/** Facts of a moment; each judgement after the first is counted. */
function begun({ mayGoAgain = true } = {}) {
  const clock = manualClock();
  const mayGo = (): MayGo => {
    const listing = completeListing();
    const facts = {
      listing,
      usage: imageUsage(listing, []),
      history: { kind: 'known', file: null },
    } as const;
    return {
      outcome: 'may-go',
      object: { kind: 'image', image: image() },
      reading: { ok: true, facts, confirmedAt: clock.now() },
    };
  };
  let judged = 0;
  const first = mayGo();
  const fresh = freshFacts(
    first,
    async () => {
      judged += 1;
      return mayGoAgain ? mayGo() : { outcome: 'not-found' };
    },
    clock,
  );
  return { clock, fresh, first, judged: () => judged };
}

test('[K3] facts of the last second are looked at without another judgement', async () => {
  const { clock, fresh, judged } = begun();
  clock.advance(1_000);
  expect(await fresh.confirm(async () => ({ seen: 'it' }))).toEqual({ seen: 'it' });
  expect(judged()).toBe(0);
});

test('[K3] after a step that changes what there is, the object is judged again', async () => {
  const { fresh, judged } = begun();
  fresh.outdate();
  await fresh.confirm(async () => ({ seen: 'it' }));
  await fresh.confirm(async () => ({ seen: 'it' }));
  expect(judged()).toBe(1);
});

test('[K3] what was seen while the facts grew old does not count, and after three times nothing does', async () => {
  const { clock, fresh, judged } = begun();
  let looks = 0;
  const seen = await fresh.confirm(async () => {
    looks += 1;
    clock.advance(1_001);
    return { seen: 'it' };
  });
  expect(seen).toMatchObject({ outcome: 'refused', reason: 'runtime-unavailable' });
  expect({ looks, judged: judged() }).toEqual({ looks: 3, judged: 2 });
});

test('[K3] why an object stays needs no fresh facts', async () => {
  const { clock, fresh, judged } = begun();
  const gone = await fresh.confirm(async () => {
    clock.advance(1_001);
    return { outcome: 'not-found' } as const;
  });
  expect(gone).toEqual({ outcome: 'not-found' });
  expect(judged()).toBe(0);
});

test('[K3] an object that may not go any more is not looked at', async () => {
  const { fresh, judged } = begun({ mayGoAgain: false });
  fresh.outdate();
  const looks: string[] = [];
  const seen = await fresh.confirm(async () => {
    looks.push('looked');
    return { seen: 'it' };
  });
  expect(seen).toEqual({ outcome: 'not-found' });
  expect({ looks, judged: judged() }).toEqual({ looks: [], judged: 1 });
});

test('the facts themselves are what is seen of what nothing more is asked about', async () => {
  const { fresh, first } = begun();
  expect(await fresh.confirm(async (facts) => facts)).toBe(first.reading.facts);
});
