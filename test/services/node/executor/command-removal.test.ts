import { describe, expect, test } from 'vitest';
import { FleetGcError } from '../../../../packages/process/errors.ts';
import type { Command } from '../../../../schemas/events/command.ts';
import type { FilesystemReading } from '../../../../schemas/events/filesystem.ts';
import type { CompleteInventory } from '../../../../schemas/events/inventory.ts';
import type { Reclaim } from '../../../../schemas/events/reclaim.ts';
import { acted, type JournalEntry } from '../../../../services/node/executor/journal.ts';
import { containerRemoval, imageRemoval } from '../../../fixtures/command.ts';
import { filesystems } from '../../../fixtures/filesystems.ts';
import { digestOf, runtimeImage } from '../../../fixtures/listing.ts';
import { toTarget } from '../../../fixtures/reclaim.ts';
import { MINUTE } from '../../../fixtures/time.ts';
import { BOOT_B } from '../../../support/manual-clock.ts';
import { idle } from './support/looked.ts';
import { accept, outcomes, type RemovalNode, removalNode, told } from './support/removal-node.ts';

const [A, B] = [digestOf('a'), digestOf('b')];
const IMAGES = imageRemoval([A, B]);
const CONTAINERS = containerRemoval(['sandbox-1']);
/** That the disk has this much available of its 1000 bytes; at the step of containers, from which images follow. */
const atContainers = (atLeast: string): Reclaim => ({ ...toTarget(atLeast), step: 'containers' });

/** A node with two images of 100 bytes and a sandbox that is not ready, whose disk has 800 bytes available. */
function node(): RemovalNode {
  const made = removalNode();
  for (const name of ['a', 'b'])
    made.runtime.images.set(digestOf(name), runtimeImage(name, { sizeBytes: 100n }));
  made.runtime.sandboxes.set('sandbox-1', idle());
  return made;
}

interface Given {
  readonly prepare?: (on: RemovalNode) => void;
  readonly entry?: Partial<JournalEntry>;
  readonly signal?: AbortSignal;
}

async function carrying(command: Command, { prepare, entry = {}, signal }: Given = {}) {
  const on = node();
  const accepted = accept(on, command, entry);
  prepare?.(on);
  await on.executor.carryOut(accepted, signal ?? new AbortController().signal);
  return ended(on, command);
}

/** What is told at the end of the command: its result, and what follows for its reclaim. */
function ended(on: RemovalNode, { id }: Command) {
  const results = told(on).flatMap((event) =>
    event.type === 'fleetgc.node.command-result' && event.commandId === id ? [event.result] : [],
  );
  const follows = told(on).filter(
    ({ type }) => type === 'fleetgc.node.reclaim-continues' || type === 'fleetgc.node.pressure-unrelieved',
  );
  const { entries } = on.journal.state();
  return { on, steps: on.steps, outcomes: outcomes(on), results, follows, entries };
}

const CONTINUES = 'fleetgc.node.reclaim-continues';
const UNRELIEVED = 'fleetgc.node.pressure-unrelieved';

/** Another command removes an image at this moment, which the clock has not passed yet. */
function actBy(
  { journal, clock }: RemovalNode,
  over: { reclaimId?: string; bootId?: string; inMs?: number },
): void {
  const { reclaimId, bootId, inMs = 0 } = over;
  const now = clock.now();
  const at = { ...now, sinceBootMs: now.sinceBootMs + inMs, ...(bootId && { bootId }) };
  const action = { at, commandId: 'another', ...(reclaimId && { reclaimId }) };
  journal.update((state) => acted(state, 'image', action));
}

const ticks = (steps: readonly string[]): number => steps.filter((step) => step === 'sleep 10').length;
const plans = (steps: readonly string[]): number => steps.filter((step) => step === 'plan').length;

test('[M7] a command is planned by this node, measured, and begun; then its objects go one after the other, and it ends', async () => {
  const { steps, results, outcomes: told, follows, entries } = await carrying(IMAGES);
  expect(steps).toEqual([
    'plan',
    'statfs',
    'wrote waiting, waiting',
    ...['statfs', 'look', 'wrote in-hand, waiting', `removeImage ${A}`, 'listImages'],
    ...['wrote removed, waiting', 'statfs', 'wrote removed, waiting'],
    ...['statfs', 'look', 'wrote removed, in-hand', `removeImage ${B}`, 'listImages'],
    ...['wrote removed, removed', 'statfs', 'wrote removed, removed'],
    'statfs',
    'sleep 10',
    'wrote the end',
  ]);
  expect(told).toMatchObject({ [A]: { outcome: 'removed' }, [B]: { outcome: 'removed' } });
  expect(results).toEqual([
    {
      outcome: 'done',
      removed: 2,
      notFound: 0,
      refused: 0,
      failed: 0,
      notNeeded: 0,
      notDone: 0,
      measured: { filesystem: 'imagefs', beforeBytes: '800', afterBytes: '1000' },
      estimatedBytes: 20,
      targetReached: null,
    },
  ]);
  expect(follows).toEqual([]);
  expect(entries).toEqual([]);
});

describe('a command that is refused as a whole', () => {
  const expired = ({ clock }: RemovalNode): void => clock.advance(IMAGES.lifetimeMs);
  const refused = (reclaim: Reclaim | null, prepare: (on: RemovalNode) => void = expired) =>
    carrying({ ...IMAGES, reclaim }, { prepare });

  test('is answered at once: no plan is made, nothing is looked at, and no object has a result', async () => {
    const { steps, results, outcomes: told, entries } = await refused(null);
    expect(steps).toEqual(['wrote the end']);
    expect(results).toMatchObject([{ outcome: 'refused', reason: 'expired' }]);
    expect(told).toEqual({});
    expect(entries).toEqual([]);
  });

  test('[M8] ends its reclaim, and tells what the disk has available and what holds the rest', async () => {
    const { steps, follows } = await refused(toTarget('900'));
    expect(steps).toEqual(['statfs', 'wrote the end']);
    expect(follows).toMatchObject([
      {
        type: UNRELIEVED,
        availableNow: '800',
        holders: [{ reason: 'in-use' }, { reason: 'waiting', objects: 2 }],
      },
    ]);
  });

  test('[M8] by a pause leaves what it names held', async () => {
    const { results, follows } = await refused(toTarget('900'), (on) => {
      on.restrictions = { policy: { kind: 'paused', pause: { reason: 'an incident' } } };
    });
    expect(results).toMatchObject([{ outcome: 'refused', reason: 'paused' }]);
    expect(follows).toMatchObject([
      { type: UNRELIEVED, holders: [{ reason: 'in-use' }, { reason: 'held', objects: 2 }] },
    ]);
  });

  test('[M21] and whose target is reached all the same tells nothing of its reclaim', async () => {
    expect((await refused(toTarget('800'))).follows).toEqual([]);
    expect((await refused(toTarget('801'))).follows).toMatchObject([{ type: UNRELIEVED }]);
  });

  test('[M8] tells of the inodes that are free where its target counts those', async () => {
    const target = { filesystem: 'imagefs', resource: 'inodesFree', atLeast: '700' } as const;
    const free = (inodesFree: string | null) =>
      refused({ ...toTarget('1'), target }, (on) => {
        on.runtime.filesystemReadings = () => filesystems({ inodesFree });
        expired(on);
      });
    expect((await free('600')).follows).toMatchObject([{ type: UNRELIEVED, availableNow: '600' }]);
    expect((await free(null)).follows).toMatchObject([{ type: UNRELIEVED, availableNow: null }]);
  });

  test('[A1] ends also where the disk cannot be read: then nobody knows what it has', async () => {
    const { follows, results } = await refused(toTarget('900'), (on) => {
      expired(on);
      on.at = (step) => {
        if (step === 'statfs') throw new FleetGcError('STATE_UNREADABLE', 'no disk');
      };
    });
    expect(results).toMatchObject([{ outcome: 'refused', reason: 'expired' }]);
    expect(follows).toMatchObject([{ type: UNRELIEVED, availableNow: null }]);
  });

  test('since another one acted goes on in its reclaim, with facts that are later than what that one did', async () => {
    const { follows, steps, results, on } = await refused(toTarget('900'), (made) =>
      actBy(made, { reclaimId: 'another' }),
    );
    expect(results).toMatchObject([{ reason: 'superseded' }]);
    expect(follows).toMatchObject([
      {
        type: CONTINUES,
        reclaim: { step: 'images', round: 2 },
        availableNow: '800',
        takenAt: on.clock.now(),
      },
    ]);
    expect(ticks(steps)).toBe(1);
  });

  test('since another one of the same reclaim acted leaves it to that one to say what follows', async () => {
    const { follows, results } = await refused(toTarget('900'), (made) =>
      actBy(made, { reclaimId: 'reclaim-1' }),
    );
    expect(results).toMatchObject([{ reason: 'superseded' }]);
    expect(follows).toEqual([]);
  });
});

describe('a command that an earlier process began', () => {
  const begun = (inodesFree: string | null, availableBytes: string | null = '600'): Given => ({
    entry: { before: { availableBytes, inodesFree } },
  });

  test('is refused as a whole no more: each object has its own result', async () => {
    const { results, outcomes: told } = await carrying(IMAGES, {
      ...begun(null),
      prepare: ({ clock }) => clock.advance(IMAGES.lifetimeMs),
    });
    expect(results).toMatchObject([{ outcome: 'done', refused: 2 }]);
    expect(told).toMatchObject({ [A]: { reason: 'expired' }, [B]: { reason: 'expired' } });
  });

  test('is measured from its beginning', async () => {
    const { results } = await carrying(IMAGES, begun(null));
    expect(results).toMatchObject([{ measured: { beforeBytes: '600', afterBytes: '1000' } }]);
  });

  test('is told without a measurement where the disk could not be read at its beginning', async () => {
    const { results } = await carrying(IMAGES, begun('900', null));
    expect(results).toMatchObject([{ removed: 2, measured: null }]);
  });

  test.each(['900', null])(
    'remembers its beginning with %s free inodes for the next process too',
    async (inodes) => {
      const kept: unknown[] = [];
      await carrying(IMAGES, {
        ...begun(inodes),
        prepare: (on) => {
          on.at = (step) => {
            if (step === 'wrote waiting, waiting') kept.push(on.journal.state().entries[0]?.before);
          };
        },
      });
      expect(kept).toEqual([{ availableBytes: '600', inodesFree: inodes }]);
    },
  );
});

test.each<{ disk: Partial<FilesystemReading>; kept: JournalEntry['before'] }>([
  { disk: {}, kept: { availableBytes: '800', inodesFree: '900' } },
  { disk: { inodesFree: null }, kept: { availableBytes: '800', inodesFree: null } },
  { disk: { availableBytes: null }, kept: { availableBytes: null, inodesFree: null } },
])('the beginning of a command is in the journal before anything goes: $kept', async ({ disk, kept }) => {
  const seen: unknown[] = [];
  await carrying(IMAGES, {
    prepare: (on) => {
      on.runtime.filesystemReadings = () => filesystems({ availableBytes: '800', ...disk });
      on.at = (step) => {
        if (seen.length === 0 && step.startsWith('wrote')) {
          seen.push(on.journal.state().entries[0]?.before);
          expect(on.runtime.calls).toEqual([]);
        }
      };
    },
  });
  expect(seen).toEqual([kept]);
});

describe('what follows at the end of a command', () => {
  test('[M21] is nothing once its target is reached: what it does not need stays', async () => {
    const { results, outcomes: told, follows, on } = await carrying({ ...IMAGES, reclaim: toTarget('900') });
    expect(on.runtime.gone).toEqual([A]);
    expect(told).toMatchObject({ [A]: { outcome: 'removed' }, [B]: { outcome: 'not-needed' } });
    expect(results).toMatchObject([{ removed: 1, notNeeded: 1, targetReached: true }]);
    expect(follows).toEqual([]);
  });

  test('is the next round of images where the target is not reached', async () => {
    const { results, follows, on } = await carrying(
      { ...IMAGES, reclaim: toTarget('950') },
      {
        prepare: ({ runtime }) => {
          runtime.otherBytes = 300n;
        },
      },
    );
    expect(results).toMatchObject([{ removed: 2, targetReached: false }]);
    expect(follows).toMatchObject([
      { type: CONTINUES, reclaim: { round: 2 }, availableNow: '700', takenAt: on.clock.now() },
    ]);
  });

  test('[J14, M21] are images after containers, whose space is waited for once they all went', async () => {
    const { follows, steps } = await carrying({ ...CONTAINERS, reclaim: atContainers('900') });
    expect(steps.filter((step) => step === 'sleep 50')).toHaveLength(40);
    expect(steps.lastIndexOf('sleep 50')).toBeGreaterThan(steps.indexOf('wrote removed'));
    expect(follows).toMatchObject([{ type: CONTINUES, reclaim: { step: 'images', round: 1 } }]);
  });

  test('[M21] is told as soon as the space of containers is there', async () => {
    const { results, steps, follows } = await carrying(
      { ...CONTAINERS, reclaim: atContainers('900') },
      {
        prepare: (on) => {
          on.at = (step) => {
            if (step === 'sleep 50') on.runtime.images.delete(B);
          };
        },
      },
    );
    expect(steps.filter((step) => step === 'sleep 50')).toHaveLength(1);
    expect(results).toMatchObject([
      { targetReached: true, measured: { beforeBytes: '800', afterBytes: '900' } },
    ]);
    expect(follows).toEqual([]);
  });

  test('[M21] waits for no space where no container went', async () => {
    const command = { ...containerRemoval(['gone']), reclaim: atContainers('900') };
    const { results, steps } = await carrying(command);
    expect(results).toMatchObject([{ removed: 0, notFound: 1 }]);
    expect(steps.filter((step) => step === 'sleep 50')).toEqual([]);
  });

  test('[M7] waits for no space of images, for which it was waited each time', async () => {
    const { steps } = await carrying(
      { ...IMAGES, reclaim: toTarget('950') },
      {
        prepare: ({ runtime }) => {
          runtime.otherBytes = 300n;
        },
      },
    );
    const last = steps.lastIndexOf('wrote removed, removed');
    expect(steps.slice(last + 1)).toEqual(['statfs', 'wrote the end']);
  });

  test('[M8] is the end of the reclaim where a pause has come meanwhile: what it left is held', async () => {
    const { follows, results } = await carrying(
      { ...IMAGES, reclaim: toTarget('1000') },
      {
        prepare: (on) => {
          on.runtime.after = (call) => {
            if (call === `removeImage ${A}`)
              on.restrictions = { policy: { kind: 'paused', pause: { reason: 'an incident' } } };
          };
        },
      },
    );
    expect(results).toMatchObject([{ removed: 1, refused: 1, targetReached: false }]);
    expect(follows).toMatchObject([
      {
        type: UNRELIEVED,
        availableNow: '900',
        holders: [{ reason: 'in-use' }, { reason: 'held', objects: 1 }],
      },
    ]);
  });

  test('is told of the command alone, whatever waits in the journal before it', async () => {
    const on = node();
    accept(on, imageRemoval([B], { id: 'earlier' }));
    const entry = accept(on, imageRemoval([A], { reclaim: toTarget('900') }));
    await on.executor.carryOut(entry, new AbortController().signal);
    const { results, entries } = ended(on, entry.command);
    expect(results).toMatchObject([{ outcome: 'done', removed: 1, targetReached: true }]);
    expect(entries.map(({ command }) => command.id)).toEqual(['earlier']);
  });
});

describe("[D6] the target of a command is that of this node's own plan", () => {
  /** What the node sees, at its first plan and at later ones. */
  const seeing =
    (first: Partial<CompleteInventory>, later: Partial<CompleteInventory> = first) =>
    (on: RemovalNode): void => {
      const { takeInventory } = on;
      let count = 0;
      on.takeInventory = async (...asked) => {
        const seen = await takeInventory(...asked);
        return seen.status === 'complete' ? { ...seen, ...(++count === 1 ? first : later) } : seen;
      };
      on.runtime.after = (call) => {
        if (call.startsWith('removeImage')) on.clock.advance(10_001);
      };
    };
  const ENOUGH = { filesystems: filesystems({ availableBytes: '1000' }) };

  test('where that is smaller', async () => {
    const { on, results, follows } = await carrying(
      { ...IMAGES, reclaim: toTarget('1000') },
      { prepare: seeing({ reclaim: toTarget('900') }) },
    );
    expect(on.runtime.gone).toEqual([A]);
    expect(results).toMatchObject([{ removed: 1, notNeeded: 1, targetReached: true }]);
    expect(follows).toEqual([]);
  });

  test('as the last plan has it', async () => {
    const { outcomes: told } = await carrying(
      { ...IMAGES, reclaim: toTarget('1000') },
      { prepare: seeing({}, { reclaim: toTarget('900') }) },
    );
    expect(told).toMatchObject({ [A]: { outcome: 'removed' }, [B]: { outcome: 'not-needed' } });
  });

  test('of the first plan where the last one has none: that one tells whether it is reached', async () => {
    const given = (atLeast: string) =>
      carrying({ ...IMAGES, reclaim: toTarget(atLeast) }, { prepare: seeing({}, ENOUGH) });
    expect((await given('900')).outcomes[B]).toMatchObject({ outcome: 'not-needed' });
    expect((await given('1000')).outcomes[B]).toMatchObject({
      outcome: 'refused',
      reason: 'kept-by-own-plan',
    });
  });

  test('and where this node has none, nothing goes and its reclaim ends', async () => {
    const { on, results, follows } = await carrying(
      { ...IMAGES, reclaim: toTarget('900') },
      { prepare: seeing(ENOUGH) },
    );
    expect(on.runtime.calls).toEqual([]);
    expect(results).toMatchObject([{ outcome: 'done', refused: 2 }]);
    expect(follows).toEqual([]);
  });
});

describe('facts that follow from a command are later than all that the node did', () => {
  const CLEAN = containerRemoval(['gone']);

  test.each([
    { name: 'an action that is past is not waited for', given: { inMs: -1 }, waited: 0 },
    { name: 'one of this moment is waited for, a tick of the clock', given: { inMs: 0 }, waited: 1 },
    { name: 'one that is to come is waited for', given: { inMs: 10 }, waited: 2 },
    { name: 'for ten ticks, and no longer', given: { inMs: MINUTE }, waited: 10 },
    { name: 'one of another boot is not', given: { inMs: MINUTE, bootId: BOOT_B }, waited: 0 },
  ])('$name', async ({ given, waited }) => {
    const { steps } = await carrying(CLEAN, { prepare: (on) => actBy(on, given) });
    expect(ticks(steps)).toBe(waited);
  });

  test('the last of them counts, of whatever kind', async () => {
    const { steps } = await carrying(CLEAN, {
      prepare: (on) => {
        actBy(on, { inMs: -100 });
        const at = { ...on.clock.now(), sinceBootMs: on.clock.now().sinceBootMs + 20 };
        on.journal.update((state) => acted(state, 'sandbox', { at, commandId: 'another' }));
      },
    });
    expect(ticks(steps)).toBe(3);
  });

  test('nothing is waited for where nothing was done', async () => {
    expect(ticks((await carrying(CLEAN)).steps)).toBe(0);
  });
});

describe('an executor that is stopped', () => {
  test('while a command goes on finishes the object in hand, plans no more, and tells what it left', async () => {
    const stopping = new AbortController();
    const {
      outcomes: told,
      results,
      steps,
    } = await carrying(IMAGES, {
      signal: stopping.signal,
      prepare: (on) => {
        on.at = (step) => {
          if (step !== `removeImage ${A}`) return;
          stopping.abort();
          on.clock.advance(10_001);
        };
      },
    });
    expect(told).toMatchObject({ [A]: { outcome: 'removed' }, [B]: { outcome: 'not-done' } });
    expect(results).toMatchObject([{ outcome: 'done', removed: 1, notDone: 1 }]);
    expect(plans(steps)).toBe(1);
  });

  test('says nothing of the reclaim of a command that it came to nothing of', async () => {
    const command = {
      ...CONTAINERS,
      reclaim: { ...atContainers('900'), actions: ['containers'] } as Reclaim,
    };
    const { results, follows, steps } = await carrying(command, { signal: AbortSignal.abort() });
    expect(results).toMatchObject([{ outcome: 'done', notDone: 1, targetReached: false }]);
    expect(follows).toEqual([]);
    expect(steps.filter((step) => step.startsWith('sleep'))).toEqual([]);
  });

  test('and is not, plans anew for an object that comes so late', async () => {
    const { steps } = await carrying(IMAGES, {
      prepare: ({ runtime, clock }) => {
        runtime.after = (call) => {
          if (call === `removeImage ${A}`) clock.advance(10_001);
        };
      },
    });
    expect(plans(steps)).toBe(2);
  });
});

describe('what nobody foresaw', () => {
  test.each([
    { name: 'before it is begun', nth: 1, begun: false },
    { name: 'before its first object', nth: 2, begun: true },
    { name: 'at its end', nth: 6, begun: true },
  ])('$name leaves the command in the journal', async ({ nth, begun }) => {
    const on = node();
    const entry = accept(on, IMAGES);
    let readings = 0;
    on.at = (step) => {
      if (step === 'statfs' && ++readings === nth) throw new Error('nobody foresaw this');
    };
    await expect(on.executor.carryOut(entry, new AbortController().signal)).rejects.toThrow(
      'nobody foresaw this',
    );
    const { results, entries } = ended(on, IMAGES);
    expect(results).toEqual([]);
    expect(entries.map(({ before }) => before !== null)).toEqual([begun]);
    expect(readings).toBe(nth);
  });
});
