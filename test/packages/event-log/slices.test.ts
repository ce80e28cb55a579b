import { expect, test } from 'vitest';
import { UNCOUNTED } from '../../../packages/event-log/in-hand.ts';
import { trackProblems } from '../../../packages/event-log/problems.ts';
import { serveSlices } from '../../../packages/event-log/slices.ts';
import { at } from '../../services/audit/verify/support.ts';
import { silentContext } from './probe.ts';

/** Serves one record; says for how many slices the offsets were committed. */
async function committedWhen(handle: (lose: () => void) => void): Promise<number> {
  const [over, ending] = [new AbortController(), new AbortController()];
  let committed = 0;
  const left = [at('commands', 0)];
  const source = {
    name: 'gc.node.commands/0',
    peek: async () => left,
    inHand: () => UNCOUNTED,
    done: async () => {
      left.length = 0;
      committed += 1;
    },
  };
  await serveSlices(source, {
    handle: async () => handle(() => over.abort()),
    over: over.signal,
    ending: AbortSignal.any([over.signal, ending.signal]),
    problems: trackProblems(),
    context: silentContext(),
    isFinal: () => false,
  });
  return committed;
}

test('what a handler is done with is committed', async () => {
  expect(await committedWhen(() => undefined)).toBe(1);
});

test('a handler that returns after its partition was lost commits nothing: the record is the next owner’s', async () => {
  expect(await committedWhen((lose) => lose())).toBe(0);
});
