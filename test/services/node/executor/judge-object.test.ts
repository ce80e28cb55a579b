import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { CompleteListing } from '../../../../packages/cri/listing-types.ts';
import { imageUsage } from '../../../../packages/cri/usage.ts';
import type { Command } from '../../../../schemas/events/command.ts';
import type { CommandItem, Restrictions } from '../../../../services/node/executor/checks.ts';
import type { FactsReading } from '../../../../services/node/executor/facts.ts';
import { EMPTY_JOURNAL } from '../../../../services/node/executor/journal.ts';
import { Judge } from '../../../../services/node/executor/judge.ts';
import { NO_LOCAL_RULES } from '../../../../services/node/executor/local-rules.ts';
import { openDirectory } from '../../../../services/node/executor/pod-logs.ts';
import type { Refusal } from '../../../../services/node/executor/reports.ts';
import { containerRemoval, imageRemoval, logRemoval } from '../../../fixtures/command.ts';
import { completeListing, runtimeImage } from '../../../fixtures/listing.ts';
import { policyRecord } from '../../../fixtures/policy.ts';
import { MINUTE, NOW } from '../../../fixtures/time.ts';
import { manualClock } from '../../../support/manual-clock.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';
import { APP, dead, image } from './support/looked.ts';

const KEPT: Refusal = { reason: 'kept-by-own-plan', message: 'this node keeps it' };

/** What the judgement of the first object of a command meets; by default nothing that keeps it. */
interface Given {
  readonly listing?: Partial<CompleteListing>;
  readonly reading?: FactsReading;
  readonly restrictions?: Partial<Restrictions>;
  readonly planned?: (named: CommandItem) => CommandItem | Refusal;
  readonly podsNow?: () => Promise<readonly { readonly uid: string }[]>;
  /** What happens while the runtime is read. */
  readonly meanwhile?: (world: {
    readonly forbid: (over: Partial<Restrictions>) => void;
    readonly advance: (ms: number) => void;
  }) => void;
  readonly podLogsDir?: string;
}

async function judging(command: Command, given: Given) {
  const { listing, reading, planned = (named) => named, meanwhile } = given;
  const [named] = command.items;
  if (named === undefined) throw new Error('a command has an item');
  const clock = manualClock();
  const asked: string[] = [];
  let over = given.restrictions ?? {};
  const listed = completeListing(listing);
  const facts: FactsReading = reading ?? {
    ok: true,
    facts: {
      listing: listed,
      usage: imageUsage(listed, []),
      history: {
        kind: 'known',
        file: {
          version: 1,
          at: clock.now(),
          watchedSinceMs: 0,
          clockSteadySince: clock.now(),
          images: [[APP, 0, null]],
        },
      },
    },
    confirmedAt: clock.now(),
  };
  const itemOf = (item: CommandItem) => {
    asked.push('plan');
    return planned(item);
  };
  const podLogsDir = given.podLogsDir ?? '/nowhere/pods';
  const judge = new Judge({
    clock,
    podsNow: async () => {
      asked.push('kubelet');
      return given.podsNow === undefined ? [] : await given.podsNow();
    },
    readFacts: async () => {
      asked.push('runtime');
      meanwhile?.({
        forbid: (more) => {
          over = more;
        },
        advance: clock.advance,
      });
      return facts;
    },
    restrictions: async () => ({
      policy: { kind: 'enforced', record: policyRecord() },
      distrustOf: () => null,
      local: NO_LOCAL_RULES,
      backoff: [],
      lastActions: EMPTY_JOURNAL.lastActions,
      removalRate: EMPTY_JOURNAL.removalRate,
      ...over,
    }),
    podLogs: { podLogsDir, containerLogsDir: '/nowhere/containers', openDirectory },
  });
  const judgement = await judge.judge(command, named, { reclaim: null, itemOf });
  return { judgement, asked, facts };
}

const stays = (refusal: object) => ({ outcome: 'refused', ...refusal });
const HELD = { reason: 'held', message: "the node's own file says hold: true" };
const HOLDING = { local: { ...NO_LOCAL_RULES, hold: true } };

describe('an object that this node would remove itself', () => {
  const listing = { images: [image()] };

  test('may go, and the facts by which it may are told', async () => {
    const { judgement, asked, facts } = await judging(imageRemoval([APP]), { listing });
    expect(judgement).toEqual({
      outcome: 'may-go',
      object: { kind: 'image', image: image() },
      reading: facts,
    });
    expect(asked).toEqual(['plan', 'runtime']);
  });

  test('[M31] is gone where the runtime lists it no more', async () => {
    const { judgement } = await judging(imageRemoval([APP]), {});
    expect(judgement).toEqual({ outcome: 'not-found' });
  });

  test('[D7, K2] stays for what the look finds', async () => {
    const pinned = { images: [runtimeImage('app', { pinned: true })] };
    const { judgement } = await judging(imageRemoval([APP]), { listing: pinned });
    expect(judgement).toEqual(stays({ reason: 'pinned', message: 'the runtime has the image pinned' }));
  });

  test('[K3] stays where the runtime cannot be read', async () => {
    const reading = { ok: false, message: 'connection refused' } as const;
    const { judgement } = await judging(imageRemoval([APP]), { reading });
    expect(judgement).toEqual(stays({ reason: 'runtime-unavailable', message: 'connection refused' }));
  });

  test('[K3] stays where the node was told to hold while the runtime was read', async () => {
    const { judgement } = await judging(imageRemoval([APP]), {
      listing,
      meanwhile: ({ forbid }) => forbid(HOLDING),
    });
    expect(judgement).toEqual(stays(HELD));
  });

  test('[K3] stays where its command is over once the runtime was read', async () => {
    const { judgement } = await judging(imageRemoval([APP]), {
      listing,
      meanwhile: ({ advance }) => advance(MINUTE),
    });
    expect(judgement).toMatchObject(stays({ reason: 'expired' }));
  });

  test('[M33] stays where it backs off: neither the plan nor the runtime is asked', async () => {
    const backoff = [{ kind: 'image', id: APP, failures: 1, untilMs: NOW + MINUTE }] as const;
    const { judgement, asked } = await judging(imageRemoval([APP]), { listing, restrictions: { backoff } });
    expect(judgement).toMatchObject(stays({ reason: 'backing-off' }));
    expect(asked).toEqual([]);
  });
});

describe('an object that this node would remove since its pod is gone', () => {
  const command = containerRemoval(['dead']);
  const given = {
    listing: { containers: [dead()] },
    planned: (item: CommandItem) => ({ ...item, podGone: true }),
  } as const;

  test('[G6, K3] may go, and the kubelet is asked before the runtime, whatever the command says of its pod', async () => {
    const { judgement, asked } = await judging(command, given);
    expect(judgement).toMatchObject({ outcome: 'may-go' });
    expect(asked).toEqual(['plan', 'kubelet', 'runtime']);
  });

  test('[G6, K3] stays where its pod is back', async () => {
    const { judgement } = await judging(command, { ...given, podsNow: async () => [{ uid: 'pod-1' }] });
    expect(judgement).toMatchObject(stays({ reason: 'pod-is-back' }));
  });

  test('[K3] stays where the kubelet answered too long ago', async () => {
    const { judgement } = await judging(command, { ...given, meanwhile: ({ advance }) => advance(5_001) });
    expect(judgement).toMatchObject(stays({ reason: 'pods-unknown' }));
  });

  test('[M31] is gone where the runtime lists it no more, whatever its pod does', async () => {
    const { judgement } = await judging(command, {
      ...given,
      listing: {},
      podsNow: async () => [{ uid: 'pod-1' }],
    });
    expect(judgement).toEqual({ outcome: 'not-found' });
  });
});

describe('an object that this node keeps', () => {
  const planned = () => KEPT;

  test('stays for that, and no kubelet is asked', async () => {
    const { judgement, asked } = await judging(imageRemoval([APP]), {
      listing: { images: [image()] },
      planned,
    });
    expect(judgement).toEqual(stays(KEPT));
    expect(asked).toEqual(['plan', 'runtime']);
  });

  test('stays for what the look finds, which tells more', async () => {
    const { judgement } = await judging(imageRemoval([APP]), {
      listing: { images: [runtimeImage('app', { pinned: true })] },
      planned,
    });
    expect(judgement).toMatchObject(stays({ reason: 'pinned' }));
  });

  test('[M31] is gone where the runtime lists it no more', async () => {
    const { judgement } = await judging(imageRemoval([APP]), { planned });
    expect(judgement).toEqual({ outcome: 'not-found' });
  });

  test('[M31] is gone where it is an entry that its directory lacks, and stays where it is there', async () => {
    const podLogsDir = temporaryDirectory();
    mkdirSync(join(podLogsDir, 'default_web_pod-1'));
    const judged = async (name: string) =>
      (await judging(logRemoval([name]), { planned, podLogsDir })).judgement;
    expect(await judged('default_web_pod-1')).toEqual(stays(KEPT));
    expect(await judged('default_web_pod-2')).toEqual({ outcome: 'not-found' });
  });
});
